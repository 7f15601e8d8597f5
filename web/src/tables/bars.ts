import { svg } from "../dom";

/** An interval as a bar about its own middle, all on one scale: half a width stands for `reach`. */
export function intervalBar(value: number, low: number, high: number, reach: number, title: string): SVGSVGElement {
  const x = (v: number): number => 50 + Math.min(50, Math.max(-50, ((v - value) / reach) * 48));
  return svg(
    "svg",
    { class: "interval", viewBox: "0 0 100 12", preserveAspectRatio: "none", role: "img", "aria-label": title },
    svg("title", { text: title }),
    svg("rect", { class: "axis", x: 0, y: 5.6, width: 100, height: 0.8 }),
    svg("rect", { class: "span", x: x(low), y: 3, width: Math.max(0.8, x(high) - x(low)), height: 6 }),
    svg("rect", { class: "middle", x: 49.4, y: 0.5, width: 1.2, height: 11 }),
  );
}

/** A length as a bar from zero, all on one scale. */
export function lengthBar(value: number, longest: number): SVGSVGElement {
  return svg(
    "svg",
    { class: "length", viewBox: "0 0 100 12", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { x: 0, y: 3, width: Math.max(0.5, (value / longest) * 100), height: 6 }),
  );
}
