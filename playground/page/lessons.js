// Lessons: runs in which something fails at a known time, and what there is to watch.
import { html } from "./html.js";

/** The lessons, and the one that a URL's query names, if it names one. */
export async function lessonsFor(query) {
  const answer = await fetch(new URL("./lessons.json", import.meta.url));
  if (!answer.ok) throw new Error(`lessons.json: ${answer.status} ${answer.statusText}`);
  const lessons = await answer.json();
  const name = new URLSearchParams(query).get("lesson");
  const lesson = lessons.find((one) => one.name === name) ?? null;
  return { lessons, lesson, isUnknown: name !== null && lesson === null };
}

const link = ({ name }) => `?lesson=${name}`;

/** The lesson that is shown, with the way to the next one. Who acts before its last step takes over. */
export function Lesson({ lesson, lessons, isTakenOver }) {
  const next = lessons[lessons.indexOf(lesson) + 1];
  return html`
    <section class="lesson" aria-label="Lesson">
      <h2>${lesson.name.toUpperCase()}: ${lesson.title}</h2>
      <p>${lesson.watch.join(" ")}</p>
      <p role="status">${isTakenOver && "You took over: the rest of the lesson will not happen."}</p>
      <p class="lab-row"><a href=${link(lesson)}>Start again</a>
        ${next !== undefined && html`<a href=${link(next)}>Next: ${next.title}</a>`}</p>
    </section>
  `;
}

export function Lessons({ lessons }) {
  return html`<ol class="lessons">${lessons.map((one) => html`
    <li key=${one.name}><a href=${link(one)}>${one.name.toUpperCase()}: ${one.title}</a></li>`)}</ol>`;
}
