import type { PageAngle, PageAngles } from "../data";
import { el } from "../dom";
import { degrees, NONE, shown, visibly } from "../format";
import { type Model, selectBody } from "../model";
import type { Motion } from "../motion/motion";
import { AnglePlots, levelOf, panelsOf, sideOf } from "../plots/angles";
import type { Store } from "../store";
import { type Column, DataTable } from "../tables/table";
import type { Theme } from "./theme";

/** Joint angles: a plot for each, the ranges of motion, and how they were counted. */
export function anglesPart(angles: PageAngles, model: Model, motion: Motion, store: Store, theme: Theme): HTMLElement {
  const plots = new AnglePlots(model, motion, store, panelsOf(angles));
  theme.onChange(() => plots.repaint());
  const key = (kind: string, text: string): HTMLElement => el("span", { class: `key ${kind}` }, el("i"), text);
  const legend = el(
    "p",
    { class: "plot-legend quiet" },
    key("side-l", "left"),
    key("side-r", "right"),
    key("side-m", "middle"),
    key("band", "± what errors of the frames make of it"),
    el("span", { text: "numbers: degrees at this moment" }),
  );
  return el(
    "div",
    {},
    plots.element,
    legend,
    el("div", { class: "sub" }, rangeTable(angles, model, store)),
    counted(angles),
  );
}

function counted(angles: PageAngles): HTMLElement {
  const rows = [
    ["convention", angles.title],
    ["neutral pose", angles.neutral],
    ["heading", angles.heading || NONE],
    ...angles.made.map(([segment, made]) => [shown(segment), made]),
  ];
  return el(
    "details",
    { class: "sub" },
    el("summary", {}, "How they were counted"),
    el("p", { text: angles.note }),
    el(
      "dl",
      { class: "counted" },
      ...rows.flatMap(([name, text]) => [el("dt", { text: name ?? "" }), el("dd", { text: visibly(text ?? "") })]),
    ),
  );
}

/** What every angle did, and how well that is known. */
function rangeTable(angles: PageAngles, model: Model, store: Store): HTMLElement {
  const wide = (angle: PageAngle): number | null =>
    angle.low === null || angle.high === null ? null : angle.high - angle.low;
  const other = (angle: PageAngle): number | null => {
    const pair = angles.columns.find((one) => one.panel === angle.panel && one.side !== angle.side);
    const own = wide(angle);
    const beside = pair === undefined ? null : wide(pair);
    return own === null || beside === null ? null : (own - beside) * (angle.side === "l" ? 1 : -1);
  };
  const number = (title: string, hint: string, value: (angle: PageAngle) => number | null): Column<PageAngle> => ({
    title,
    unit: "deg",
    numeric: true,
    hint,
    value: (angle) => toDegrees(value(angle)),
    draw: (angle) => degrees(value(angle)),
  });
  const columns: Column<PageAngle>[] = [
    { title: "angle", value: (a) => a.panel, draw: (a) => el("bdi", { class: "name", text: shown(a.panel) }) },
    { title: "side", value: (a) => sideOf(a) },
    number("from", "The least of all frames", (a) => a.low),
    number("to", "The largest of all frames", (a) => a.high),
    number("range", "Range of motion", wide),
    number("left − right", "Range of the left side less that of the right", other),
    {
      title: "level",
      hint: "How well its offset is known; by definition: it rests on a pose or on the mean up",
      value: (a) => levelOf(a),
    },
    number("± course", "Error of its curve: another angle that shows in it", (a) => a.course),
    number("± noise", "Of a single frame", (a) => a.noise),
  ];
  const table = new DataTable<PageAngle>({
    name: "Ranges of motion",
    file: "angles",
    rows: angles.columns,
    columns,
    pressed: (angle) => selectBody(store, model, angle.body),
  });
  store.watch(["body"], (state) => table.mark((angle) => angle.body === state.body));
  return table.element;
}

function toDegrees(radians: number | null): number | null {
  return radians === null ? null : Number(((radians * 180) / Math.PI).toPrecision(6));
}
