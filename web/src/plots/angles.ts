import type { PageAngle, PageAngles } from "../data";
import { NO_ANGLE } from "../data";
import { contextOf, el, onResize, styleValue } from "../dom";
import { degrees, NONE, shown } from "../format";
import { type Model, selectBody } from "../model";
import type { Motion } from "../motion/motion";
import type { Store } from "../store";

/** One angle with its values [deg], evenly over the shown frames; NaN where it is not known. */
export interface AngleSeries {
  readonly angle: PageAngle;
  readonly values: Float32Array;
}

/** Angles that are shown in one plot: both sides of one, or one of the middle. */
export interface Panel {
  readonly name: string;
  readonly series: readonly AngleSeries[];
  /** [deg] the scale, which zero is always on */
  readonly low: number;
  readonly high: number;
}

const DEGREES = 180 / Math.PI;

/** Numbers of an angle [deg] from their packed form. */
export function unpackAngle(packed: string, step: number): Float32Array {
  const text = atob(packed);
  const values = new Float32Array(text.length >> 1);
  for (let i = 0; i < values.length; i++) {
    const word = text.charCodeAt(2 * i) | (text.charCodeAt(2 * i + 1) << 8);
    const signed = word >= 0x8000 ? word - 0x10000 : word;
    values[i] = signed === NO_ANGLE ? NaN : signed * step * DEGREES;
  }
  return values;
}

/** The panels of a page, in the order of its angles. */
export function panelsOf(angles: PageAngles): Panel[] {
  const found = new Map<string, AngleSeries[]>();
  for (const angle of angles.columns) {
    const series = { angle, values: unpackAngle(angle.values, angles.step) };
    found.set(angle.panel, [...(found.get(angle.panel) ?? []), series]);
  }
  return [...found].map(([name, series]) => {
    const lows = series.map(({ angle }) => (angle.low ?? 0) * DEGREES);
    const highs = series.map(({ angle }) => (angle.high ?? 0) * DEGREES);
    const low = Math.min(0, ...lows);
    const high = Math.max(0, ...highs);
    const room = Math.max(high - low, 10) * 0.04;
    return { name, series, low: low - room, high: high + room };
  });
}

/** [deg] half the width of the band around an angle: what errors of the frames make of it, as far as that is known. */
export function bandOf(angle: PageAngle): number {
  return Math.hypot(angle.level ?? 0, angle.course ?? 0) * DEGREES;
}

/** What an angle is at a share of the take, as text. */
function now(series: AngleSeries, share: number): string {
  const value = series.values[Math.round(share * (series.values.length - 1))] ?? NaN;
  return Number.isFinite(value) ? String(Math.round(value) + 0) : NONE;
}

const COLOURS: Readonly<Record<string, string>> = { l: "--left", r: "--right", "": "--ink" };
const SIDES: Readonly<Record<string, string>> = { l: "left", r: "right", "": "" };

/** All angles at a glance: one small plot a joint's angle, left and right in one, with the band of their errors. */
export class AnglePlots {
  readonly element = el("div", { class: "multiples angles", role: "listbox", "aria-label": "Joint angles" });
  private readonly cells: { readonly canvas: HTMLCanvasElement; readonly panel: Panel }[] = [];

  constructor(
    private readonly model: Model,
    motion: Motion,
    private readonly store: Store,
    panels: readonly Panel[],
  ) {
    for (const panel of panels) this.element.append(this.cell(panel, motion));
    const [first] = this.cells;
    if (first !== undefined) onResize(first.canvas, () => this.repaint());
    store.watch(["frame"], (state) => this.element.style.setProperty("--head", String(shareOf(motion, state.frame))));
  }

  repaint(): void {
    for (const { canvas, panel } of this.cells) {
      const width = Math.round(canvas.clientWidth * devicePixelRatio);
      const height = Math.round(canvas.clientHeight * devicePixelRatio);
      if (width === 0) continue;
      canvas.width = width;
      canvas.height = height;
      drawPanel(contextOf(canvas), panel, width, height);
    }
  }

  private cell(panel: Panel, motion: Motion): HTMLElement {
    const { model, store } = this;
    const canvas = el("canvas", { "aria-hidden": "true" });
    const numbers = el("span", { class: "number" });
    const cell = el(
      "button",
      { type: "button", class: "multiple", role: "option", title: panel.name },
      el("bdi", { class: "name", text: shown(panel.name) }),
      numbers,
      el(
        "span",
        { class: "strip" },
        canvas,
        el("span", { class: "scale high", text: `${Math.round(panel.high)}°` }),
        el("span", { class: "scale low", text: `${Math.round(panel.low) + 0}°` }),
        el("i", { class: "head" }),
      ),
    );
    const bodies = panel.series.map(({ angle }) => angle.body);
    cell.addEventListener("click", () => {
      // A second press goes to the other side.
      const next = bodies[(bodies.indexOf(store.state.body ?? -1) + 1) % bodies.length];
      if (next !== undefined) selectBody(store, model, next);
    });
    store.watch(["frame"], (state) => {
      const share = shareOf(motion, state.frame);
      numbers.replaceChildren(
        ...panel.series.flatMap((series, i) => [
          ...(i > 0 ? [" "] : []),
          el("b", { class: `side-${series.angle.side || "m"}`, text: `${now(series, share)}°` }),
        ]),
      );
    });
    store.watch(["body"], (state) =>
      cell.setAttribute("aria-selected", String(state.body !== null && bodies.includes(state.body))),
    );
    this.cells.push({ canvas, panel });
    return cell;
  }
}

function shareOf(motion: Motion, frame: number): number {
  return motion.frames > 1 ? frame / (motion.frames - 1) : 0;
}

function drawPanel(context: CanvasRenderingContext2D, panel: Panel, width: number, height: number): void {
  const y = (value: number): number => height - ((value - panel.low) / (panel.high - panel.low)) * height;
  context.fillStyle = styleValue("--line");
  context.fillRect(0, y(0), width, devicePixelRatio);
  for (const { angle, values } of panel.series) {
    const colour = styleValue(COLOURS[angle.side] ?? "--ink");
    const band = bandOf(angle);
    context.strokeStyle = colour;
    context.fillStyle = colour;
    context.lineWidth = 1.4 * devicePixelRatio;
    context.setLineDash(angle.side === "r" ? [5 * devicePixelRatio, 3 * devicePixelRatio] : []);
    const x = (i: number): number => (i / Math.max(values.length - 1, 1)) * width;
    for (const [first, last] of known(values)) {
      context.globalAlpha = 0.2;
      context.beginPath();
      for (let i = first; i <= last; i++) context.lineTo(x(i), y((values[i] ?? NaN) + band));
      for (let i = last; i >= first; i--) context.lineTo(x(i), y((values[i] ?? NaN) - band));
      context.fill();
      context.globalAlpha = 1;
      context.beginPath();
      for (let i = first; i <= last; i++) context.lineTo(x(i), y(values[i] ?? NaN));
      context.stroke();
    }
  }
  context.setLineDash([]);
}

/** Stretches [first, last] in which values are known. */
export function known(values: Float32Array): [number, number][] {
  const out: [number, number][] = [];
  let begin = -1;
  for (let i = 0; i <= values.length; i++) {
    const there = i < values.length && Number.isFinite(values[i]);
    if (there && begin < 0) begin = i;
    if (!there && begin >= 0) {
      out.push([begin, i - 1]);
      begin = -1;
    }
  }
  return out;
}

/** "± 2", "by definition" or "open": how well the level of an angle is known. */
export function levelOf(angle: PageAngle): string {
  if (angle.definition) return "by definition";
  return angle.level === null ? "open" : `± ${degrees(angle.level)}`;
}

export function sideOf(angle: PageAngle): string {
  return SIDES[angle.side] ?? "";
}
