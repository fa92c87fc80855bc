// Overlays as pixels: heat or mask over a label map.

const STOPS = [[0, 20, 24, 82], [0.42, 30, 110, 140], [0.62, 248, 211, 80], [1, 214, 40, 40]];

const RAMP = Array.from({ length: 256 }, (_, value) => {
  const t = value / 255;
  const k = Math.max(1, STOPS.findIndex((stop) => stop[0] >= t));
  const [a, b] = [STOPS[k - 1], STOPS[k]];
  const share = (t - a[0]) / (b[0] - a[0]);
  return [1, 2, 3].map((c) => Math.round(a[c] + share * (b[c] - a[c])));
});

// Colour and opacity of each segment, as one 32-bit number.
function colourSegments(image, view, opacity) {
  const colours = new Uint32Array(image.state.length);
  const alpha = Math.round(255 * opacity);
  for (let s = 0; s < colours.length; s++) {
    if (view === "heat") {
      const [r, g, b] = RAMP[image.heat[s]];
      colours[s] = ((alpha << 24) | (b << 16) | (g << 8) | r) >>> 0;
    } else if (view === "mask" && !(image.state[s] & 4)) {
      colours[s] = ((Math.round(alpha * 0.95) << 24) | (0x1c << 16) | (0x12 << 8) | 0x10) >>> 0;
    }
  }
  return colours;
}

export function paintOverlay(canvas, regions, image, view, opacity) {
  canvas.width = regions.width;
  canvas.height = regions.height;
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(regions.width, regions.height);
  const words = new Uint32Array(pixels.data.buffer);
  const colours = colourSegments(image, view, opacity);
  const { labels } = regions;
  for (let i = 0; i < words.length; i++) words[i] = colours[labels[i]];
  context.putImageData(pixels, 0, 0);
}

export const heatColour = (value) => `rgb(${RAMP[value].join(" ")})`;
