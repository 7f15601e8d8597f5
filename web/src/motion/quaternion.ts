/** Rotations as quaternions w, x, y, z inside larger arrays, read and written in place: nothing is made per frame. */

import type { Vector } from "../vector";

type Numbers = Float32Array | Float64Array | number[];

/** Vector v turned by the quaternion at q[at]. */
export function rotate(q: ArrayLike<number>, at: number, v: Vector, out: Numbers, to = 0): void {
  const w = q[at] ?? NaN;
  const x = q[at + 1] ?? NaN;
  const y = q[at + 2] ?? NaN;
  const z = q[at + 3] ?? NaN;
  const vx = v[0];
  const vy = v[1];
  const vz = v[2];
  const tx = 2 * (y * vz - z * vy);
  const ty = 2 * (z * vx - x * vz);
  const tz = 2 * (x * vy - y * vx);
  out[to] = vx + w * tx + (y * tz - z * ty);
  out[to + 1] = vy + w * ty + (z * tx - x * tz);
  out[to + 2] = vz + w * tz + (x * ty - y * tx);
}

/** a times b: first b, then a. */
export function multiply(
  a: ArrayLike<number>,
  i: number,
  b: ArrayLike<number>,
  j: number,
  out: Numbers,
  to: number,
): void {
  const w = a[i] ?? NaN;
  const x = a[i + 1] ?? NaN;
  const y = a[i + 2] ?? NaN;
  const z = a[i + 3] ?? NaN;
  const s = b[j] ?? NaN;
  const u = b[j + 1] ?? NaN;
  const v = b[j + 2] ?? NaN;
  const t = b[j + 3] ?? NaN;
  out[to] = w * s - x * u - y * v - z * t;
  out[to + 1] = w * u + x * s + y * t - z * v;
  out[to + 2] = w * v - x * t + y * s + z * u;
  out[to + 3] = w * t + x * v - y * u + z * s;
}

/** The rotation about v by its length [rad]. */
export function quaternionOfVector(v: Vector, out: Numbers, to: number): void {
  const angle = Math.hypot(v[0], v[1], v[2]);
  const scale = angle > 1e-9 ? Math.sin(angle / 2) / angle : 0.5;
  out[to] = Math.cos(angle / 2);
  out[to + 1] = v[0] * scale;
  out[to + 2] = v[1] * scale;
  out[to + 3] = v[2] * scale;
}

/** The vector of the rotation at q[at], of length at most pi. */
export function vectorOfQuaternion(q: ArrayLike<number>, at: number, out: Numbers): void {
  const w = q[at] ?? NaN;
  const x = q[at + 1] ?? NaN;
  const y = q[at + 2] ?? NaN;
  const z = q[at + 3] ?? NaN;
  const sign = w < 0 ? -1 : 1;
  const sine = Math.hypot(x, y, z);
  const angle = 2 * Math.atan2(sine, sign * w);
  const scale = sine > 1e-9 ? (sign * angle) / sine : 2 * sign;
  out[0] = x * scale;
  out[1] = y * scale;
  out[2] = z * scale;
}
