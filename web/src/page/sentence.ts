import { el } from "../dom";
import { visibly } from "../format";

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/;

/**
 * A sentence that holds names from files. Names written from right to left stand in elements of their own, so that the
 * words and numbers around them keep their order; numbers stay with their unit.
 */
export function sentence(text: string, names: readonly string[]): Node[] {
  const turned = names.filter((name) => RIGHT_TO_LEFT.test(name)).sort((a, b) => b.length - a.length);
  const words = (part: string): string =>
    visibly(part).replace(/(\d) (?=(mm|deg|s|Hz|things?|sensors?)\b)/g, "$1\u00a0");
  const nodes: Node[] = [];
  let rest = text;
  while (rest !== "") {
    let at = rest.length;
    let found = "";
    for (const name of turned) {
      const place = rest.indexOf(name);
      if (place >= 0 && place < at) [at, found] = [place, name];
    }
    if (at > 0) nodes.push(document.createTextNode(words(rest.slice(0, at))));
    if (found !== "") nodes.push(el("bdi", { text: visibly(found) }));
    rest = rest.slice(at + found.length);
  }
  return nodes;
}
