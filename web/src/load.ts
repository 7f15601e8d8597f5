import { FORMAT, type PageData, VERSION } from "./data";

/** What the page was filled with, or a sentence about why it cannot be shown. */
export function readPage(text: string): PageData | string {
  if (text.trim() === "") return "This page holds no result: it is the empty form that condyle fills.";
  let data: PageData;
  try {
    data = JSON.parse(text) as PageData;
  } catch {
    return "The data in this page is damaged. Write it again with: condyle report DIR";
  }
  if (data.format !== FORMAT) return "The data in this page is not condyle's.";
  if (data.version !== VERSION)
    return `The data in this page is of version ${data.version}, the page shows ${VERSION}. Write it again with: condyle report DIR`;
  return data;
}

/** Whether the page is that of a session in progress, which is told everything by its stream. */
export function isLive(text: string): boolean {
  return text.startsWith('{"format":"condyle.live"');
}
