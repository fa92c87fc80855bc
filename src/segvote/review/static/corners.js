// Which corner, or which edge, of a polygon on the screen is under the pointer.

import { imageToScreen } from "./canvas.js";

const NEAR = 10, NEAR_EDGE = 6; // CSS pixels

// Number of the nearest corner; -1 where none is near.
export function findCorner({ points }, x, y) {
  const gaps = points.map((point) => { const [px, py] = imageToScreen(...point); return Math.hypot(px - x, py - y); });
  const nearest = gaps.indexOf(Math.min(...gaps));
  return gaps[nearest] < NEAR ? nearest : -1;
}

// Number of the corner at which the nearest edge begins; -1 where none is near. The edge back to the first corner is one
// where it is drawn.
export function findEdge({ points, isClosed }, x, y) {
  const corners = points.map((point) => imageToScreen(...point));
  const ends = isClosed ? [...corners.slice(1), corners[0]] : corners.slice(1);
  const gaps = ends.map((end, k) => measureGap(corners[k], end, x, y));
  const nearest = gaps.indexOf(Math.min(...gaps));
  return gaps[nearest] < NEAR_EDGE ? nearest : -1;
}

// From a place to a line.
function measureGap([x0, y0], [x1, y1], x, y) {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const along = Math.min(1, Math.max(0, ((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - x0 - along * dx, y - y0 - along * dy);
}
