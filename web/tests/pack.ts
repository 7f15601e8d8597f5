/** Packs numbers as src/condyle/report/pack.py does, written anew from its words. */

export function packGroup(channels: readonly (readonly number[])[], order: number): Uint8Array {
  const numbers = channels.flatMap((channel) => {
    let values = channel.map((value) => value | 0);
    for (let pass = 0; pass < order; pass++) values = values.map((value, i) => (value - (values[i - 1] ?? 0)) | 0);
    return values.map((value) => ((value << 1) ^ (value >> 31)) >>> 0);
  });
  const out = new Uint8Array(1 + 4 * numbers.length);
  out[0] = order;
  numbers.forEach((u, i) => {
    for (let plane = 0; plane < 4; plane++) out[1 + plane * numbers.length + i] = (u >>> (8 * plane)) & 255;
  });
  return out;
}

export function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
