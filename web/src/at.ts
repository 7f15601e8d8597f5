/**
 * Reading what must be there.
 *
 * Not for loops over numbers: these functions see arrays of every kind, which makes them five times slower there than a
 * plain read. A loop over a typed array, whose places are all filled, reads `values[i] ?? NaN` or `values[i] ?? 0`; the
 * browser's compiler leaves the second half away.
 */

/** The value at a place of an array. */
export function at<T>(values: ArrayLike<T>, place: number): T {
  const value = values[place];
  if (value === undefined) throw new RangeError(`no place ${place} among ${values.length}`);
  return value;
}

/** The last value of an array. */
export function last<T>(values: ArrayLike<T>): T {
  return at(values, values.length - 1);
}

/** The value of a key. */
export function lookup<K, V>(values: ReadonlyMap<K, V>, key: K): V {
  const value = values.get(key);
  if (value === undefined) throw new RangeError(`no key ${key} among ${values.size}`);
  return value;
}
