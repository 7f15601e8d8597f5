import { Vector3 } from "three";

/** How many times taller than wide a figure must be for its longest axis to be taken as up. */
const TALL = 1.3;

/** The axis that seems to point up where nothing tells: the one along which the figure is longest, else z. */
export function likelyUp(points: ArrayLike<number>): string {
  const reaches = ["x", "y", "z"].map((axis, x) => {
    let [low, high] = [Infinity, -Infinity];
    for (let i = x; i < points.length; i += 3) {
      const value = points[i] ?? NaN;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    return { axis, reach: high - low };
  });
  const [longest, next] = reaches.sort((a, b) => b.reach - a.reach);
  return longest && next && longest.reach > TALL * next.reach ? longest.axis : "z";
}

/** The world's axis that points up; z where nothing tells. */
export function upVector(up: string | null): Vector3 {
  const sign = up?.startsWith("-") ? -1 : 1;
  const axis = up?.at(-1) ?? "z";
  return new Vector3(axis === "x" ? sign : 0, axis === "y" ? sign : 0, axis === "z" ? sign : 0);
}

/** Middle, radius and widest level direction of points (x, y, z one after the other). */
export function extentOf(points: ArrayLike<number>, up: Vector3): { middle: Vector3; radius: number; wide: Vector3 } {
  const n = points.length / 3;
  const middle = new Vector3();
  if (n === 0) return { middle, radius: 1, wide: new Vector3() };
  const low = new Vector3(Infinity, Infinity, Infinity);
  const high = new Vector3(-Infinity, -Infinity, -Infinity);
  const p = new Vector3();
  for (let i = 0; i < n; i++) {
    p.fromArray(points as number[], i * 3);
    low.min(p);
    high.max(p);
  }
  middle.addVectors(low, high).multiplyScalar(0.5);
  const side = Math.abs(up.x) > 0.5 ? new Vector3(0, 1, 0) : new Vector3(1, 0, 0);
  const other = new Vector3().crossVectors(up, side);
  let radius = 0;
  let [aa, ab, bb] = [0, 0, 0];
  for (let i = 0; i < n; i++) {
    p.fromArray(points as number[], i * 3).sub(middle);
    radius = Math.max(radius, p.length());
    const a = p.dot(side);
    const b = p.dot(other);
    aa += a * a;
    ab += a * b;
    bb += b * b;
  }
  const angle = 0.5 * Math.atan2(2 * ab, aa - bb);
  const wide = side.multiplyScalar(Math.cos(angle)).addScaledVector(other, Math.sin(angle));
  return { middle, radius: radius || 1, wide };
}
