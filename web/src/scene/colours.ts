import { Color } from "three";
import { at } from "../at";
import { styleValue } from "../dom";

/** Colours of the scene, from the page's style. */
export interface Colours {
  readonly paper: Color;
  readonly grid: Color;
  readonly shadow: Color;
  readonly bone: Color;
  readonly sensor: Color;
  readonly measured: Color;
  readonly selected: Color;
  readonly axis: Color;
  readonly warn: Color;
  readonly figures: readonly Color[];
}

export function coloursOfStyle(): Colours {
  const of = (name: string): Color => new Color(styleValue(name));
  return {
    paper: of("--stage"),
    grid: of("--stage-grid"),
    shadow: of("--stage-shadow"),
    bone: of("--bone"),
    sensor: of("--sensor"),
    measured: of("--measured"),
    selected: of("--accent"),
    axis: of("--ink"),
    warn: of("--warn"),
    figures: [1, 2, 3, 4, 5].map((n) => of(`--figure-${n}`)),
  };
}

const STOPS = 4;

/** The colour that stands for `share` (0 to 1) of the scale of residuals, as `ramp.css` has it. */
export function ramp(share: number, out: Color = new Color()): Color {
  const at = Math.min(1, Math.max(0, share)) * (STOPS - 1);
  const below = Math.min(STOPS - 2, Math.floor(at));
  return out.set(stop(below)).lerp(other.set(stop(below + 1)), at - below);
}

const other = new Color();
let stops: string[] = [];

function stop(number: number): string {
  if (stops.length === 0) stops = Array.from({ length: STOPS }, (_, i) => styleValue(`--ramp-${i}`) || "#888888");
  return at(stops, number);
}

/** After a change of theme: the stops are read from the style again. */
export function forgetRamp(): void {
  stops = [];
}
