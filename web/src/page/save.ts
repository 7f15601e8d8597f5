import { type Cell, copy, download, toCsv } from "../csv";
import { button, el } from "../dom";
import type { Model } from "../model";
import type { Motion } from "../motion/motion";
import { panelsOf, sideOf } from "../plots/angles";

/** What a page that came without a server tells to run. */
const COMMANDS: readonly (readonly [string, string])[] = [
  ["bvh", "Blender, MotionBuilder, Maya"],
  ["glb", "browsers, Unity, Unreal, Blender"],
  ["usd", "Omniverse, Houdini"],
  ["mjcf", "MuJoCo"],
  ["urdf", "Pinocchio, robots"],
  ["mcap", "ROS 2, Foxglove"],
  ["osim", "OpenSim"],
  ["c3d", "Mokka, Visual3D"],
  ["csv", "spreadsheets"],
];

/** All that can be taken from the page, one click each: tables and series as CSV, the figure for other programs. */
export function saveDialog(model: Model, motion: Motion | null, tables: readonly HTMLElement[]): HTMLDialogElement {
  const dialog = el(
    "dialog",
    { class: "keys-dialog save-dialog", "aria-label": "Save" },
    el("h2", { text: "Save", tabindex: -1, autofocus: true }), // no button has the focus: Space plays
  );
  const files = el("div", { class: "choices" });
  const save = (name: string, about: string, rows: () => Cell[][]): void =>
    files.append(button(`${name}.csv`, about, () => download(`${name}.csv`, toCsv(rows()))));
  for (const table of tables) {
    const press = table.querySelector<HTMLButtonElement>("button.csv");
    if (press) files.append(button(`${table.dataset.file}.csv`, press.title, () => press.click()));
  }
  if (motion && model.links.length) save("gaps", "Gap of every joint and loop over time", () => gapRows(model, motion));
  const { angles } = model.data;
  if (motion && angles) save("angles-over-time", "Joint angles over time", () => angleRows(model, motion));
  dialog.append(el("h3", { text: "Numbers" }), files);
  if (model.data.joints.length)
    dialog.append(el("h3", { text: "Figure and motion" }), model.data.exports.length ? served(model) : commands());
  dialog.append(button("Close", "Close (Esc)", () => dialog.close()));
  dialog.addEventListener("keydown", (event) => event.key !== " " && event.stopPropagation()); // keys of the page rest
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  return dialog;
}

/** Gaps in mm, a row a frame. */
export function gapRows(model: Model, motion: Motion): Cell[][] {
  const head = ["time [s]", ...model.links.map((_, link) => `${model.linkName(link)} [mm]`)];
  const rows = Array.from({ length: motion.frames }, (_, i): Cell[] => [
    round(motion.timeAt(i)),
    ...model.links.map((_, link) => round((motion.gap(link)[i] ?? NaN) * 1000)),
  ]);
  return [head, ...rows];
}

/** Angles in degrees, a row for every frame that the page has. */
function angleRows(model: Model, motion: Motion): Cell[][] {
  const { angles } = model.data;
  if (angles === null) return [];
  const series = panelsOf(angles).flatMap((panel) => panel.series);
  const length = Math.max(0, ...series.map(({ values }) => values.length));
  const name = (index: number): string => {
    const one = series[index];
    return one === undefined ? "" : `${one.angle.panel} ${sideOf(one.angle)}`.trim();
  };
  const head = ["time [s]", ...series.map((_, k) => `${name(k)} [deg]`)];
  const rows = Array.from({ length }, (_, i): Cell[] => [
    round(motion.timeAt(Math.round((i * (motion.frames - 1)) / Math.max(1, length - 1)))),
    ...series.map(({ values }) => round(values[i] ?? NaN)),
  ]);
  return [head, ...rows];
}

function round(value: number): number | null {
  return Number.isFinite(value) ? Number(value.toPrecision(7)) : null;
}

function served(model: Model): HTMLElement {
  const links = model.data.exports.map(([name, about]) =>
    el("a", { href: `exports/${name}`, download: "", title: about, class: "choice", text: name }),
  );
  return el("div", { class: "choices" }, ...links);
}

function commands(): HTMLElement {
  const folder = decodeURIComponent(location.pathname).split("/").at(-2) || "DIR";
  const lines = COMMANDS.map(([name, about]) => {
    const command = `condyle export ${/^[\w.-]+$/.test(folder) ? folder : "DIR"} --to ${name}`;
    const press = button("Copy", `Copy: ${command}`, () => {
      void copy(command).then((done) => (press.textContent = done ? "Copied" : "Not allowed"));
    });
    return el("li", {}, el("code", { text: command }), press, el("span", { class: "quiet", text: about }));
  });
  const told = "A page in a file writes no files of others; these commands do, and condyle view has a button for each.";
  return el("div", {}, el("p", { class: "quiet", text: told }), el("ul", { class: "commands" }, ...lines));
}
