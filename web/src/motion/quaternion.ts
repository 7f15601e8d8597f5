/** Rotations as quaternions w, x, y, z inside larger arrays, read and written in place: nothing is made per frame. */

type Numbers = Float32Array | Float64Array | number[];

/** Vector v turned by the quaternion at q[at]. */
export function rotate(q: ArrayLike<number>, at: number, v: ArrayLike<number>, out: Numbers, to = 0): void {
  const w = q[at];
  const x = q[at + 1];
  const y = q[at + 2];
  const z = q[at + 3];
  const tx = 2 * (y * v[2] - z * v[1]);
  const ty = 2 * (z * v[0] - x * v[2]);
  const tz = 2 * (x * v[1] - y * v[0]);
  const vx = v[0];
  const vy = v[1];
  const vz = v[2];
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
  const [w, x, y, z] = [a[i], a[i + 1], a[i + 2], a[i + 3]];
  const [s, u, v, t] = [b[j], b[j + 1], b[j + 2], b[j + 3]];
  out[to] = w * s - x * u - y * v - z * t;
  out[to + 1] = w * u + x * s + y * t - z * v;
  out[to + 2] = w * v - x * t + y * s + z * u;
  out[to + 3] = w * t + x * v - y * u + z * s;
}

/** The rotation about v by its length [rad]. */
export function quaternionOfVector(v: ArrayLike<number>, out: Numbers, to: number): void {
  const angle = Math.hypot(v[0], v[1], v[2]);
  const scale = angle > 1e-9 ? Math.sin(angle / 2) / angle : 0.5;
  out[to] = Math.cos(angle / 2);
  out[to + 1] = v[0] * scale;
  out[to + 2] = v[1] * scale;
  out[to + 3] = v[2] * scale;
}

/** The vector of the rotation at q[at], of length at most pi. */
export function vectorOfQuaternion(q: ArrayLike<number>, at: number, out: Numbers): void {
  const sign = q[at] < 0 ? -1 : 1;
  const sine = Math.hypot(q[at + 1], q[at + 2], q[at + 3]);
  const angle = 2 * Math.atan2(sine, sign * q[at]);
  const scale = sine > 1e-9 ? (sign * angle) / sine : 2 * sign;
  for (let x = 0; x < 3; x++) out[x] = q[at + 1 + x] * scale;
}
