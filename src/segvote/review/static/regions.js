// Geometry of a label map: which region is where, its outline as lines on pixel edges, its neighbours by direction.

export class Regions {
  constructor(map) {
    Object.assign(this, map);
    this.boxes = measureBoxes(map);
    this.paths = new Map();
  }

  segmentAt(x, y) {
    if (x < 0 || y < 0 || x >= this.width || y >= this.height) return -1;
    return this.labels[Math.floor(y) * this.width + Math.floor(x)];
  }

  // Whether the picture shows a segment: one frame of a video does not show them all.
  isVisible(segment) {
    return this.boxes[4 * segment] <= this.boxes[4 * segment + 2];
  }

  // All segments of the region around a segment, at a level.
  listRegion(segment, level) {
    const regions = this.levels[level];
    const found = [];
    for (let i = 0; i < this.n; i++) if (regions[i] === regions[segment] && this.isVisible(i)) found.push(i);
    return found;
  }

  // Edges between different regions of a level: drawn once, remembered.
  drawLevel(level) {
    const key = `level ${level}`;
    if (!this.paths.has(key)) this.paths.set(key, traceEdges(this, this.levels[level], false));
    return this.paths.get(key);
  }

  // Outline of the segments for which flags holds a truthy value.
  drawOutline(flags, segments = null) {
    return traceEdges(this, flags, true, segments && this.unionBox(segments));
  }

  unionBox(segments) {
    const box = [this.width, this.height, 0, 0];
    for (const s of segments) {
      box[0] = Math.min(box[0], this.boxes[4 * s]);
      box[1] = Math.min(box[1], this.boxes[4 * s + 1]);
      box[2] = Math.max(box[2], this.boxes[4 * s + 2]);
      box[3] = Math.max(box[3], this.boxes[4 * s + 3]);
    }
    return box;
  }

  // The pixel of a region that is farthest from its edge.
  anchor(segments) {
    const flags = new Uint8Array(this.n);
    for (const s of segments) flags[s] = 1;
    const [left, top, right, bottom] = this.unionBox(segments);
    const [columns, rows] = [right - left + 3, bottom - top + 3]; // with a rim of zeros
    const depth = new Uint16Array(columns * rows);
    for (let y = 1; y < rows - 1; y++) {
      for (let x = 1; x < columns - 1; x++) {
        if (!flags[this.labels[(y + top - 1) * this.width + x + left - 1]]) continue;
        depth[y * columns + x] = 1 + Math.min(depth[y * columns + x - 1], depth[(y - 1) * columns + x]);
      }
    }
    let best = 0, deepest = 0;
    for (let at = columns * rows - 1; at >= 0; at--) {
      if (!depth[at]) continue;
      depth[at] = Math.min(depth[at], 1 + depth[at + 1], 1 + depth[at + columns]);
      if (depth[at] > deepest) { deepest = depth[at]; best = at; }
    }
    return [(best % columns) + left - 1, Math.floor(best / columns) + top - 1];
  }

  // The segment one meets when walking from a region in a direction; the same segment at the edge of the image.
  walk(segment, level, dx, dy) {
    const regions = this.levels[level];
    let [x, y] = this.anchor(this.listRegion(segment, level));
    for (;;) {
      x += dx; y += dy;
      const met = this.segmentAt(x, y);
      if (met < 0) return segment;
      if (regions[met] !== regions[segment]) return met;
    }
  }
}

// Outline of a mask, one byte per pixel.
export function traceMask({ width, height, pixels }) {
  return traceEdges({ labels: pixels, width, height }, [0, 1], true);
}

const single = new Uint8Array(1 << 16); // all zeros but for the one number that is being traced

// Outline of one number of a map of numbers (uint16), within a box.
export function traceLabel(map, number, box) {
  single[number] = 1;
  const path = traceEdges(map, single, true, box);
  single[number] = 0;
  return path;
}

function measureBoxes({ labels, width, height, n }) {
  const boxes = new Int32Array(4 * n);
  for (let s = 0; s < n; s++) boxes.set([width, height, 0, 0], 4 * s);
  for (let y = 0, i = 0; y < height; y++) {
    for (let x = 0; x < width; x++, i++) {
      const at = 4 * labels[i];
      if (x < boxes[at]) boxes[at] = x;
      if (y < boxes[at + 1]) boxes[at + 1] = y;
      if (x > boxes[at + 2]) boxes[at + 2] = x;
      if (y > boxes[at + 3]) boxes[at + 3] = y;
    }
  }
  return boxes;
}

// Lines where neighbouring pixels have different values, joined into long runs. With the border, the outside counts as 0.
function traceEdges({ labels, width, height }, values, border, box = null) {
  const path = new Path2D();
  const [left, top, right, bottom] = box ?? [0, 0, width - 1, height - 1];
  const value = (x, y) => (x < 0 || y < 0 || x >= width || y >= height ? (border ? 0 : null) : values[labels[y * width + x]]);
  const differ = (a, b) => a !== b && a !== null && b !== null;
  for (let y = top; y <= bottom + 1; y++) {
    for (let x = left, start = -1; x <= right + 1; x++) {
      const edge = x <= right && differ(value(x, y - 1), value(x, y));
      if (edge && start < 0) start = x;
      if (!edge && start >= 0) { path.moveTo(start, y); path.lineTo(x, y); start = -1; }
    }
  }
  for (let x = left; x <= right + 1; x++) {
    for (let y = top, start = -1; y <= bottom + 1; y++) {
      const edge = y <= bottom && differ(value(x - 1, y), value(x, y));
      if (edge && start < 0) start = y;
      if (!edge && start >= 0) { path.moveTo(x, start); path.lineTo(x, y); start = -1; }
    }
  }
  return path;
}
