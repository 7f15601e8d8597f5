/** Numbers from base64 of 16-bit whole numbers, lowest byte first, 1 standing for `step`. */
export function unpackWords(packed: string, step: number): Float32Array {
  const text = atob(packed);
  const values = new Float32Array(text.length >> 1);
  for (let i = 0; i < values.length; i++)
    values[i] = (text.charCodeAt(2 * i) | (text.charCodeAt(2 * i + 1) << 8)) * step;
  return values;
}
