import { at } from "./at";

/** The value below which `share` (0 to 1) of the values lie; there must be one at least. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return at(sorted, Math.min(sorted.length - 1, Math.floor(share * sorted.length)));
}

/** The middle of the values, the larger one of two. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}
