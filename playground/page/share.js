// A run as a part of a URL: its settings and what was done, as compressed JSON.

/** The parameter of the URL. */
const NAME = "run";

/** A longer link is not followed everywhere, in characters. */
export const LONGEST = 8_000;

/** The URL of a run. */
export async function encoded(run) {
  const url = new URL(location.href);
  const bytes = await through(new CompressionStream("deflate-raw"), JSON.stringify(run));
  // One by one: a call takes only so many arguments.
  const text = btoa(Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join(""));
  url.search = new URLSearchParams({
    [NAME]: text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, ""),
  });
  return url.href;
}

/** The run of a URL's query, or nothing if there is none. Throws if it is damaged. */
export async function decoded(query) {
  const text = new URLSearchParams(query).get(NAME);
  if (text === null) return {};
  const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (it) => it.charCodeAt(0));
  const json = await through(new DecompressionStream("deflate-raw"), bytes);
  return JSON.parse(new TextDecoder().decode(json));
}

function through(transform, content) {
  return new Response(new Blob([content]).stream().pipeThrough(transform)).arrayBuffer();
}
