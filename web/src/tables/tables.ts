import type { PageJoint, PageLimb, PagePlacement } from "../data";
import { el } from "../dom";
import { degrees, mm, NONE, roundUp, share } from "../format";
import { type Model, selectBody, selectLink } from "../model";
import { quantile } from "../quantile";
import type { Store } from "../store";
import { intervalBar, lengthBar } from "./bars";
import { type Column, DataTable } from "./table";

const toMm = (metres: number | null): number | null =>
  metres === null ? null : Number((metres * 1000).toPrecision(9));
const toDegrees = (radians: number | null): number | null =>
  radians === null ? null : Number(((radians * 180) / Math.PI).toPrecision(9));

const AXES = [
  ["x", 0],
  ["y", 1],
  ["z", 2],
] as const;

function name(text: string): HTMLElement {
  const parts = text.split(/(?<=_)/).flatMap((part, k) => (k === 0 ? [part] : [el("wbr"), part]));
  return el("bdi", { class: "name", title: text }, ...parts);
}

interface LinkRow {
  readonly link: number;
  readonly joint: PageJoint;
}

/** Loops and contacts: which two, when, and how far apart. */
export function loopTable(model: Model, store: Store): HTMLElement {
  const first = model.data.joints.length;
  const rows = model.data.loops.map((joint, l): LinkRow => ({ joint, link: first + l }));
  const seconds = (value: number | undefined): string => (value === undefined ? NONE : value.toFixed(2));
  const columns: Column<LinkRow>[] = [
    { title: "body", value: (r) => model.name(r.joint.child), draw: (r) => name(model.name(r.joint.child)) },
    { title: "with", value: (r) => model.name(r.joint.parent), draw: (r) => name(model.name(r.joint.parent)) },
    { title: "kind", value: (r) => r.joint.kind },
    {
      title: "from",
      unit: "s",
      numeric: true,
      value: (r) => model.span(r.link)?.start ?? null,
      draw: (r) => seconds(model.span(r.link)?.start),
    },
    {
      title: "to",
      unit: "s",
      numeric: true,
      value: (r) => model.span(r.link)?.end ?? null,
      draw: (r) => seconds(model.span(r.link)?.end),
    },
    {
      title: "gap rms",
      unit: "mm",
      numeric: true,
      value: (r) => toMm(r.joint.residual),
      draw: (r) => mm(r.joint.residual),
    },
    { title: "95 %", unit: "mm", numeric: true, value: (r) => toMm(r.joint.p95), draw: (r) => mm(r.joint.p95) },
    { title: "frames", numeric: true, value: (r) => r.joint.frames },
  ];
  const table = new DataTable<LinkRow>({
    name: "Loops and contacts",
    file: "loops",
    rows,
    columns,
    pressed: (row) => selectLink(store, model, row.link),
  });
  store.watch(["link"], (state) => table.mark((row) => row.link === state.link));
  return table.element;
}

/** Joints of the tree: parent, kind, residual, support, how well they were moved. */
export function jointTable(model: Model, store: Store): HTMLElement {
  type Row = LinkRow;
  const rows = model.data.joints.map((joint, link): Row => ({ joint, link }));
  const judged = { enough: 2, weak: 1, "not determined": 0 };
  const columns: Column<Row>[] = [
    { title: "joint", value: (r) => model.linkName(r.link), draw: (r) => name(model.linkName(r.link)) },
    { title: "parent", value: (r) => model.name(r.joint.parent), draw: (r) => name(model.name(r.joint.parent)) },
    {
      title: "kind",
      value: (r) => r.joint.kind,
      also: [
        { title: "point", value: (r) => r.joint.point },
        { title: "play [deg]", value: (r) => toDegrees(r.joint.play) },
      ],
    },
    {
      title: "gap rms",
      unit: "mm",
      numeric: true,
      hint: "Root mean square of the gap",
      value: (r) => toMm(r.joint.residual),
      draw: (r) => mm(r.joint.residual),
    },
    {
      title: "explained",
      unit: "mm",
      numeric: true,
      hint: "What the sensors' noise and skin explain of it",
      value: (r) => toMm(r.joint.explained),
      draw: (r) => mm(r.joint.explained),
    },
    {
      title: "95 %",
      unit: "mm",
      numeric: true,
      hint: "The gap is smaller in 95 % of the frames",
      value: (r) => toMm(r.joint.p95),
      draw: (r) => mm(r.joint.p95),
    },
    {
      title: "place ± 95 %",
      unit: "mm",
      numeric: true,
      hint: "Half-width of the 95 % interval of the joint's place, where it is widest",
      value: (r) => toMm(r.joint.half_width),
      draw: (r) => mm(r.joint.half_width),
    },
    {
      title: "support",
      numeric: true,
      hint: "How sure it is at least that these two bodies are joined, and not others",
      value: (r) => r.joint.support,
      draw: (r) => share(r.joint.support),
      also: [
        {
          title: "rivals",
          value: (r) => r.joint.rivals.map((pair) => pair.map((b) => model.name(b)).join(" – ")).join(", ") || null,
        },
        { title: "margin", value: (r) => r.joint.margin },
        {
          title: "runner-up",
          value: (r) => (r.joint.runner_up ? r.joint.runner_up.map((b) => model.name(b)).join(" – ") : null),
        },
      ],
    },
    {
      title: "turned",
      unit: "deg",
      numeric: true,
      hint: "Rotation about the joint's own three axes, root mean square",
      value: (r) => toDegrees(r.joint.rotation[0]),
      draw: (r) => r.joint.rotation.map((a) => degrees(a)).join(" / "),
      also: ([1, 2] as const).map((x) => ({
        title: `turned, axis ${x + 1} [deg]`,
        value: (r: Row) => toDegrees(r.joint.rotation[x]),
      })),
    },
    {
      title: "coverage",
      sort: (r) => judged[r.joint.verdict],
      value: (r) => r.joint.verdict,
      draw: (r) => el("span", { class: alarm(r.joint), title: r.joint.advice, text: r.joint.verdict }),
    },
    { title: "frames", numeric: true, value: (r) => r.joint.frames, draw: (r) => String(r.joint.frames) },
  ];
  const table = new DataTable<Row>({
    name: "Joints",
    file: "joints",
    rows,
    columns,
    pressed: (row) => selectLink(store, model, row.link),
  });
  store.watch(["link"], (state) => table.mark((row) => row.link === state.link));
  return table.element;
}

/** Lengths with their 95 % intervals drawn as bars on one scale. */
export function limbTable(model: Model, store: Store): HTMLElement {
  const rows = model.data.limbs;
  const halves = rows.flatMap((limb) => (limb.low !== null && limb.high !== null ? [(limb.high - limb.low) / 2] : []));
  const reach = halves.length ? roundUp(quantile(halves, 0.9) * 1000 * 1.05) / 1000 : 0.01;
  const longest = Math.max(1e-9, ...rows.map((limb) => limb.length ?? 0));
  const end = (joint: number): string => model.linkName(joint);
  const columns: Column<PageLimb>[] = [
    { title: "on", value: (r) => model.name(r.body), draw: (r) => name(model.name(r.body)) },
    {
      title: "from",
      value: (r) => end(r.from_joint),
      draw: (r) => name(end(r.from_joint)),
      also: [{ title: "between", value: (r) => r.between }],
    },
    { title: "to", value: (r) => end(r.to_joint), draw: (r) => name(end(r.to_joint)) },
    { title: "length", unit: "mm", numeric: true, value: (r) => toMm(r.length), draw: (r) => mm(r.length, 1) },
    {
      title: "",
      value: () => null,
      picture: true,
      draw: (r) => (r.length === null ? "" : lengthBar(r.length, longest)),
    },
    {
      title: "95 % low",
      unit: "mm",
      numeric: true,
      hint: "Lower end of the 95 % interval",
      value: (r) => toMm(r.low),
      draw: (r) => mm(r.low, 1),
    },
    {
      title: "95 % high",
      unit: "mm",
      numeric: true,
      hint: "Upper end of the 95 % interval",
      value: (r) => toMm(r.high),
      draw: (r) => mm(r.high, 1),
    },
    ...(rows.some((r) => r.along !== null)
      ? [
          {
            title: "along the axis",
            unit: "mm",
            numeric: true,
            hint: "Offset along the first axis, from the normal to the axis before to that to the second",
            value: (r: PageLimb) => toMm(r.along),
            draw: (r: PageLimb) => mm(r.along, 1),
          },
        ]
      : []),
    {
      title: `± ${mm(reach, reach < 0.001 ? 2 : 0)} mm`,
      hint: "The 95 % interval about the length, all on one scale",
      picture: true,
      value: (r) => (r.low !== null && r.high !== null ? r.high - r.low : null),
      draw: (r) => interval(r.length, r.low, r.high, reach),
    },
  ];
  const table = new DataTable<PageLimb>({
    name: "Limb lengths",
    file: "limb-lengths",
    narrow: true,
    rows,
    columns,
    pressed: (row) => selectBody(store, model, row.body),
  });
  store.watch(["body"], (state) => table.mark((row) => row.body === state.body));
  return table.element;
}

/** Where joints lie in the frames of the sensors. */
export function placementTable(model: Model, store: Store): HTMLElement {
  const rows = model.data.placements;
  const halves = rows.flatMap((row) => (row.low !== null && row.high !== null ? [(row.high - row.low) / 2] : []));
  const reach = halves.length ? roundUp(quantile(halves, 0.9) * 1000 * 1.05) / 1000 : 0.01;
  const columns: Column<PagePlacement>[] = [
    { title: "sensor", value: (r) => model.name(r.body), draw: (r) => name(model.name(r.body)) },
    { title: "joint", value: (r) => model.linkName(r.joint), draw: (r) => name(model.linkName(r.joint)) },
    ...AXES.map(
      ([axis, x]): Column<PagePlacement> => ({
        title: axis,
        unit: "mm",
        numeric: true,
        hint: `Along the sensor's own ${axis}`,
        value: (r) => toMm(r.p_body_joint[x]),
        draw: (r) => mm(r.p_body_joint[x], 1),
      }),
    ),
    { title: "distance", unit: "mm", numeric: true, value: (r) => toMm(r.distance), draw: (r) => mm(r.distance, 1) },
    {
      title: "95 % low",
      unit: "mm",
      numeric: true,
      hint: "Lower end of the 95 % interval",
      value: (r) => toMm(r.low),
      draw: (r) => mm(r.low, 1),
    },
    {
      title: "95 % high",
      unit: "mm",
      numeric: true,
      hint: "Upper end of the 95 % interval",
      value: (r) => toMm(r.high),
      draw: (r) => mm(r.high, 1),
    },
    {
      title: `± ${mm(reach, reach < 0.001 ? 2 : 0)} mm`,
      hint: "The 95 % interval about the distance, all on one scale",
      picture: true,
      value: (r) => (r.low !== null && r.high !== null ? r.high - r.low : null),
      draw: (r) => interval(r.distance, r.low, r.high, reach),
    },
  ];
  const table = new DataTable<PagePlacement>({
    name: "Sensor placements",
    file: "sensor-placements",
    rows,
    columns,
    pressed: (row) => selectLink(store, model, row.joint),
  });
  store.watch(["link", "body"], (state) => table.mark((row) => row.joint === state.link || row.body === state.body));
  return table.element;
}

/** How a joint's coverage is marked: a hinge has one axis by its nature, which is nothing to be alarmed about. */
export function alarm(joint: PageJoint): string {
  return joint.kind === "hinge" || joint.verdict === "enough" ? "quiet" : `verdict ${joint.verdict.replace(" ", "-")}`;
}

function interval(value: number | null, low: number | null, high: number | null, reach: number): Node | string {
  if (value === null || low === null || high === null) return NONE;
  return intervalBar(value, low, high, reach, `${mm(low, 1)} to ${mm(high, 1)} mm`);
}
