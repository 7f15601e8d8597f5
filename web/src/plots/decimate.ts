/** Series drawn in few columns: the least and the largest of what falls into each, so that no spike is lost. */

export interface Columns {
  readonly low: Float32Array;
  readonly high: Float32Array;
}

/** `values` from `begin` to `end` in `columns` columns; NaN where a column has no value. `counts` leaves frames out. */
export function columnsOf(
  values: Float32Array,
  columns: number,
  counts?: Uint8Array,
  begin = 0,
  end = values.length,
): Columns {
  const low = new Float32Array(columns).fill(NaN);
  const high = new Float32Array(columns).fill(NaN);
  const frames = end - begin;
  for (let c = 0; c < columns; c++) {
    const from = begin + Math.floor((c * frames) / columns);
    const to = Math.max(from + 1, begin + Math.floor(((c + 1) * frames) / columns));
    let least = Infinity;
    let most = -Infinity;
    for (let i = from; i < to && i < end; i++) {
      if (counts !== undefined && counts[i] === 0) continue;
      const value = values[i] ?? NaN;
      if (value < least) least = value;
      if (value > most) most = value;
    }
    if (most >= least) {
      low[c] = least;
      high[c] = most;
    }
  }
  return { low, high };
}

/** Counts of values in `bins` equal steps from 0 to `top`; what lies above is in the last. */
export function histogram(values: Float32Array, counts: Uint8Array, top: number, bins: number): Uint32Array {
  const out = new Uint32Array(bins);
  values.forEach((value, i) => {
    if (counts[i] === 0 || Number.isNaN(value)) return;
    const bin = Math.min(bins - 1, Math.max(0, Math.floor((value / top) * bins)));
    out[bin] = (out[bin] ?? 0) + 1;
  });
  return out;
}

/** Stretches [first, last] of frames in which `bad` holds. */
export function stretches(frames: number, bad: (frame: number) => boolean): [number, number][] {
  const out: [number, number][] = [];
  let begin = -1;
  for (let i = 0; i <= frames; i++) {
    const is = i < frames && bad(i);
    if (is && begin < 0) begin = i;
    if (!is && begin >= 0) {
      out.push([begin, i - 1]);
      begin = -1;
    }
  }
  return out;
}
