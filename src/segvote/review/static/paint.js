// Overlays as pixels: heat over a label map, or what lies outside a mask.

const STOPS = [[0, 20, 24, 82], [0.42, 30, 110, 140], [0.62, 248, 211, 80], [1, 214, 40, 40]];

const RAMP = Array.from({ length: 256 }, (_, value) => {
  const t = value / 255;
  const k = Math.max(1, STOPS.findIndex((stop) => stop[0] >= t));
  const [a, b] = [STOPS[k - 1], STOPS[k]];
  const share = (t - a[0]) / (b[0] - a[0]);
  return [1, 2, 3].map((c) => Math.round(a[c] + share * (b[c] - a[c])));
});

const pack = (r, g, b, alpha) => ((alpha << 24) | (b << 16) | (g << 8) | r) >>> 0;

// Opacity over each segment's heat, as one 32-bit number per segment.
const colourHeat = (heat, alpha) => Uint32Array.from(heat, (value) => pack(...RAMP[value], alpha));

// Heat is the segments' own; the mask is given by pixel, because it is finer than the segments.
export function paintOverlay(canvas, regions, image, mask, view, opacity) {
  const { width, height } = view === "heat" ? regions : mask;
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(width, height);
  const words = new Uint32Array(pixels.data.buffer);
  const alpha = Math.round(255 * opacity);
  const [colours, from] = view === "heat"
    ? [colourHeat(image.heat, alpha), regions.labels]
    : [[pack(0x10, 0x12, 0x1c, Math.round(alpha * 0.95)), 0], mask.pixels];
  for (let i = 0; i < words.length; i++) words[i] = colours[from[i]];
  context.putImageData(pixels, 0, 0);
}
