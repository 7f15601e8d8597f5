/** Vectors x, y, z: few enough that making a new one does not matter. What moves every frame lies in typed arrays. */

export type Vector = readonly [number, number, number];

export const ZERO: Vector = [0, 0, 0];

/** a + t b */
export function addScaled(a: Vector, b: Vector, t: number): Vector {
  return [a[0] + t * b[0], a[1] + t * b[1], a[2] + t * b[2]];
}

/** a - b */
export function difference(a: Vector, b: Vector): Vector {
  return [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
}

export function dot(a: Vector, b: Vector): number {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

export function mean(vectors: readonly Vector[]): Vector {
  const [x, y, z] = vectors.reduce((sum, vector) => addScaled(sum, vector, 1), ZERO);
  return [x / vectors.length, y / vectors.length, z / vectors.length];
}

/** The vector whose x stands at values[at]. */
export function vectorAt(values: Float32Array, at: number): Vector {
  return [values[at] ?? NaN, values[at + 1] ?? NaN, values[at + 2] ?? NaN];
}
