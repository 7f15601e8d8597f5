import { describe, expect, it } from "vitest";
import { neutral, toCsv, toTabs } from "../src/csv";
import {
  clock,
  count,
  degrees,
  duration,
  mm,
  NONE,
  roundEnd,
  roundNear,
  roundUp,
  share,
  short,
  shown,
} from "../src/format";
import { readPage } from "../src/load";
import { page } from "./made";

describe("numbers for people", () => {
  it.each([
    [0.00849, "8.5"],
    [0.1747, "174.7"],
    [0.00042, "0.42"],
    [0, "0.00"],
    [3e-6, "0.003"],
    [1e-13, "< 0.001"],
    [null, NONE],
    [NaN, NONE],
  ])("%f m is %s mm", (metres, text) => expect(mm(metres as number | null)).toBe(text));
  it("degrees have a decimal while they are small", () => {
    expect(degrees(Math.PI / 6)).toBe("30");
    expect(degrees(0.05)).toBe("2.9");
    expect(degrees(-0.0001)).toBe("0.0");
  });
  it("moments past a minute have minutes", () => {
    expect(clock(3.25)).toBe("3.25 s");
    expect(clock(125.1)).toBe("2:05.10");
    expect(clock(59.999, 1)).toBe("60.0 s");
    expect(clock(119.999)).toBe("2:00.00");
    expect(clock(65, 0)).toBe("1:05");
  });
  it("how long, how many, how many times", () => {
    expect(duration(44.98)).toBe("45.0 s");
    expect(duration(600)).toBe("10 min 0 s");
    expect(count(36000)).toBe("36\u2009000");
    expect(share(0.9499)).toBe("0.94");
    expect(share(0.99999)).toBe("0.999");
    expect(share(1)).toBe("1.000");
    expect(share(null)).toBe(NONE);
  });
  it("ends and factors are round", () => {
    expect([0.13, 2, 2.1, 51].map(roundUp)).toEqual([0.2, 2, 5, 100]);
    expect([0.13, 2, 2.1, 28, 51, 80].map(roundNear)).toEqual([0.1, 2, 2, 20, 50, 100]);
    expect([8.5, 21, 0.0026].map(roundEnd)).toEqual([10, 25, 0.003]);
  });
});

describe("names from files", () => {
  it("show marks that would otherwise act", () => {
    expect(shown("a\u001b[31mb")).toBe("a␛[31mb");
    expect(shown("\u202egnp.exe")).toBe("‹202E›gnp.exe");
    expect(shown("a\u2028b\u0000")).toBe("a‹2028›b␀");
    expect(shown("  ")).toBe("‹no name›");
    expect(shown("日本語 العربية 🦴")).toBe("日本語 العربية 🦴");
  });
  it("are cut in the middle, by letters and not by halves of them", () => {
    expect(short("very_long_".repeat(30), 12)).toHaveLength(12);
    expect(short("🦴".repeat(30), 5)).toBe("🦴🦴🦴…🦴");
  });
});

describe("tables for spreadsheets", () => {
  it.each(["=1+1", "+1", "-1", "@x", "\t=1", " =1", "＝1", "|cmd"])("%j is no formula any more", (text) => {
    expect(neutral(text)).toBe(`'${text}`);
  });
  it("leaves names and numbers alone", () => {
    expect(neutral("l_thigh")).toBe("l_thigh");
    expect(toCsv([["a"], [-1.5]])).toBe("\ufeffa\r\n-1.5\r\n");
  });
  it("quotes what would break a line, and leaves empty what is not there", () => {
    expect(toCsv([['say "hi", x', "two\nlines", null, NaN]])).toBe('\ufeff"say ""hi"", x","two\nlines",,\r\n');
    expect(toTabs([["a\tb", 2, null]])).toBe("a b\t2\t\n");
  });
});

describe("the data in the page", () => {
  it("is read, or a sentence says why not", () => {
    expect(readPage(JSON.stringify(page()))).toEqual(page());
    expect(readPage("")).toContain("holds no result");
    expect(readPage("{")).toContain("damaged");
    expect(readPage(JSON.stringify(page({ format: "other" })))).toContain("not condyle's");
    expect(readPage(JSON.stringify(page({ version: 99 })))).toContain("version 99");
  });
});
