import { at } from "../at";
import type { PageAxis, PageChain, PageMeasured } from "../data";
import { el } from "../dom";
import { clock, fixed, NONE, shown } from "../format";
import { type Model, selectBody } from "../model";
import type { Store } from "../store";
import { type Column, DataTable } from "../tables/table";

const MM = 1000;
const DEGREES = 180 / Math.PI;

interface Row {
  readonly axis: PageAxis;
  readonly standard: readonly number[];
  readonly screw: readonly number[];
}

/** A machine's axes to each other and its Denavit-Hartenberg tables, chain by chain. */
export function axesPart(model: Model, store: Store): HTMLElement {
  return el("div", {}, ...model.data.chains.map((chain) => chainPart(chain, model, store)));
}

function chainPart(chain: PageChain, model: Model, store: Store): HTMLElement {
  const ends = `${shown(model.name(chain.base))} to ${shown(model.name(chain.tool))}`;
  const rows = chain.rows.map((axis, k) => ({ axis, standard: at(chain.standard, k), screw: at(chain.screws, k) }));
  const zero = `zero at ${clock(chain.zero)}`;
  const still = chain.still ? "the base stands still" : "the base moves in the room";
  const played = chain.played
    ? `; by the table the tool is ${number(chain.played[0], MM, 2)} mm and ${number(chain.played[1], DEGREES, 2)} deg rms from where it was recorded, noise of single frames included`
    : "";
  const tables = [
    makeTable(`Axes, ${ends}`, "axes", rows, lieColumns(), model, store),
    makeTable("Modified DH", "modified-dh", rows, modifiedColumns(), model, store),
    makeTable("Standard DH", "standard-dh", rows, standardColumns(), model, store),
    makeTable("Product of exponentials", "screws", rows, screwColumns(), model, store),
  ];
  return el(
    "div",
    { class: "sub" },
    el("p", { text: `${ends}: ${zero}; ${still}${played}.` }),
    el("div", { class: "tables" }, ...tables),
  );
}

function makeTable(
  name: string,
  file: string,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  model: Model,
  store: Store,
): HTMLElement {
  const joint: Column<Row> = {
    title: "axis",
    value: ({ axis }) => model.name(axis.outer),
    draw: ({ axis }) => el("bdi", { class: "name", text: shown(model.name(axis.outer)) }),
  };
  const pressed = ({ axis }: Row): void => selectBody(store, model, axis.outer);
  const table = new DataTable<Row>({ name, file, rows, columns: [joint, ...columns], pressed });
  store.watch(["body"], (state) => table.mark(({ axis }) => axis.outer === state.body));
  return table.element;
}

function lieColumns(): Column<Row>[] {
  return [
    { title: "kind", value: ({ axis }) => axis.kind },
    {
      title: "lies",
      hint: "To the axis before: parallel or meeting as far as the motion tells",
      value: ({ axis }) => axis.lie,
    },
    ...measured("distance", "mm", MM, ({ axis }) => axis.distance),
    ...measured("angle", "deg", DEGREES, ({ axis }) => axis.angle),
    ...measured("offset", "mm", MM, ({ axis }) => axis.offset),
    moved("from", ({ axis }) => axis.low),
    moved("to", ({ axis }) => axis.high),
  ];
}

function modifiedColumns(): Column<Row>[] {
  return [
    plain("alpha", "deg", DEGREES, 3, ({ axis }) => axis.angle?.value ?? 0),
    plain("a", "mm", MM, 3, ({ axis }) => axis.distance?.value ?? 0),
    plain("d", "mm", MM, 3, ({ axis }) => axis.offset.value),
    plain("theta0", "deg", DEGREES, 3, ({ axis }) => axis.theta.value),
  ];
}

function standardColumns(): Column<Row>[] {
  return [
    plain("theta0", "deg", DEGREES, 3, ({ standard }) => at(standard, 0)),
    plain("d", "mm", MM, 3, ({ standard }) => at(standard, 1)),
    plain("a", "mm", MM, 3, ({ standard }) => at(standard, 2)),
    plain("alpha", "deg", DEGREES, 3, ({ standard }) => at(standard, 3)),
  ];
}

function screwColumns(): Column<Row>[] {
  const names = ["ωx", "ωy", "ωz", "vx", "vy", "vz"];
  return names.map((name, k) => plain(name, k < 3 ? "" : "m", 1, 5, ({ screw }) => at(screw, k)));
}

/** Where a joint went from its zero: degrees, of a slider millimetres. */
function moved(title: string, of: (row: Row) => number): Column<Row> {
  const scale = (row: Row): number => (row.axis.kind === "slider" ? MM : DEGREES);
  const unit = (row: Row): string => (row.axis.kind === "slider" ? " mm" : "°");
  return {
    title,
    numeric: true,
    hint: "From the zero: degrees, of a slider millimetres",
    value: (row) => round(of(row) * scale(row)),
    draw: (row) => `${number(of(row), scale(row), 1)}${unit(row)}`,
  };
}

function plain(title: string, unit: string, scale: number, digits: number, of: (row: Row) => number): Column<Row> {
  return {
    title,
    unit,
    numeric: true,
    value: (row) => round(of(row) * scale),
    draw: (row) => number(of(row), scale, digits),
  };
}

/** A number with half its 95 % interval; what the motion alone says stands in brackets where it was set. */
function measured(
  title: string,
  unit: string,
  scale: number,
  of: (row: Row) => PageMeasured | null,
): readonly Column<Row>[] {
  const draw = (one: PageMeasured | null): string => {
    if (one === null) return NONE;
    const free = one.free === null ? "" : ` (${number(one.free, scale, 3)})`;
    return `${number(one.value, scale, 3)}${free}`;
  };
  const width = (row: Row): number | null => of(row)?.half_width ?? null;
  return [
    {
      title,
      unit,
      numeric: true,
      value: (row) => round((of(row)?.value ?? Number.NaN) * scale),
      draw: (row) => draw(of(row)),
      also: [{ title: `${title} by itself [${unit}]`, value: (row) => round((of(row)?.free ?? Number.NaN) * scale) }],
    },
    {
      title: "±",
      unit,
      numeric: true,
      hint: `Half the 95 % interval of the ${title}`,
      value: (row) => round((width(row) ?? Number.NaN) * scale),
      draw: (row) => number(width(row), scale, 3),
    },
  ];
}

function number(value: number | null, scale: number, digits: number): string {
  if (value === null || !Number.isFinite(value)) return NONE;
  return fixed(value * scale, digits);
}

function round(value: number): number | null {
  return Number.isFinite(value) ? Number(value.toPrecision(9)) : null;
}
