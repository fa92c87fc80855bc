// Requests to the server: JSON, binary scores and label maps, and the event stream.

async function readError(response) {
  try { return (await response.json()).error; } catch { return `${response.status} ${response.statusText}`; }
}

export async function getJson(path) {
  const response = await fetch(path);
  if (!response.ok) throw new Error(await readError(response));
  return response.json();
}

export async function getBytes(path) {
  const response = await fetch(path);
  if (!response.ok) throw new Error(await readError(response));
  return response.arrayBuffer();
}

export async function post(name, message = {}) {
  const response = await fetch(`api/${name}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(message),
  });
  if (!response.ok) throw new Error(await readError(response));
  return response.json();
}

// Calls onStatus with every status. Browsers allow six connections per server, and a stream holds one: a page that
// cannot be seen closes it.
export function listen(onStatus, onGone) {
  let source = null;
  const open = () => {
    if (source || document.hidden) return;
    source = new EventSource("api/events");
    source.onmessage = (event) => onStatus(JSON.parse(event.data));
    source.onerror = onGone;
  };
  const close = () => { source?.close(); source = null; };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
  open();
}

const MAGIC = 0x31305653;

// The binary update of review/encoding.py.
export function decodeUpdate(buffer) {
  const view = new DataView(buffer);
  if (view.getUint32(0, true) !== MAGIC) throw new Error("the server and this page are of different versions: reload");
  const update = { version: view.getUint32(4, true), action: view.getUint32(8, true), images: [] };
  let at = 16;
  for (let left = view.getUint32(12, true); left > 0; left--) {
    const [index, n, flags] = [0, 4, 8].map((offset) => view.getUint32(at + offset, true));
    const [threshold, uncertainty, change, priority, covered] = [12, 16, 20, 24, 28].map((offset) => view.getFloat32(at + offset, true));
    at += 32;
    const scores = new Float32Array(buffer, at, n);
    const heat = new Uint8Array(buffer, at + 4 * n, n);
    const state = new Uint8Array(buffer, at + 5 * n, n);
    at += 6 * n + ((2 * n) % 4 ? 4 - ((2 * n) % 4) : 0);
    update.images.push({
      index, scores, heat, state, threshold, uncertainty, change, priority, covered,
      accepted: Boolean(flags & 1), isWith: Boolean(flags & 2), moved: Boolean(flags & 4),
      corrected: Boolean(flags & 8), measured: Boolean(flags & 16), predicted: Boolean(flags & 32),
    });
  }
  return update;
}

// A label map with its levels, as review/pictures.py packs it.
function decodeMap(buffer) {
  const [height, width, n, nLevels] = new Uint32Array(buffer, 0, 4);
  const labels = new Uint16Array(buffer, 16, width * height).slice();
  for (let i = width; i < labels.length; i++) labels[i] += labels[i - width];
  const levels = Array.from({ length: nLevels }, (_, k) => new Uint16Array(buffer, 16 + 2 * (width * height + k * n), n));
  return { height, width, n, labels, levels };
}

// A mask of review/masks.py: one byte per pixel, 1 for object.
export function decodeMask(buffer) {
  const [height, width] = new Uint32Array(buffer, 0, 2);
  const bits = new Uint8Array(buffer, 8);
  const pixels = new Uint8Array(width * height);
  for (let i = 0; i < pixels.length; i++) pixels[i] = (bits[i >> 3] >> (7 - (i & 7))) & 1;
  return { height, width, pixels };
}

// Instances of review/masks.py: of each its area, box and a place inside; the map has their numbers.
function decodeInstances(buffer) {
  const [height, width, nListed, n] = new Uint32Array(buffer, 0, 4);
  const names = ["area", "left", "top", "width", "height", "x", "y"];
  const list = Array.from({ length: nListed }, (_, k) => {
    const values = new Uint32Array(buffer, 16 + 4 * names.length * k, names.length);
    return { number: k + 1, ...Object.fromEntries(names.map((name, j) => [name, values[j]])) };
  });
  const labels = new Uint16Array(buffer, 16 + 4 * names.length * nListed, width * height);
  return { n, list, map: { width, height, labels } };
}

export const readInstances = async (index) => decodeInstances(await getBytes(`api/images/${index}/instances`));
export const readMask = async (index) => decodeMask(await getBytes(`api/images/${index}/mask`));
// Of an image or of the poster of a video; of one of its frames, by the number in the source.
export const nameSource = (index, frame) => (frame < 0 ? `api/images/${index}` : `api/images/${index}/frames/${frame}`);
export const readMap = async (index, frame) => decodeMap(await getBytes(`${nameSource(index, frame)}/map`));
export const readSmallMask = async (index) => decodeMask(await getBytes(`api/images/${index}/small-mask`));

export function readPicture(path) {
  return new Promise((resolve, reject) => {
    const picture = new Image();
    picture.onload = () => resolve(picture);
    picture.onerror = () => reject(new Error("the image cannot be read"));
    picture.src = path;
  });
}
