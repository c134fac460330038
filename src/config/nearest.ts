// Finds the word a user probably meant. It never decides anything: what it finds is only ever suggested.

/** The one of `words` with the fewest edits from `text`, if that is at most a third of its letters, and 3. */
export function nearest(text: string, words: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = Math.min(3, Math.floor(text.length / 3)) + 1;
  for (const word of words) {
    const edits = distance(text, word);
    if (edits < least) [best, least] = [word, edits];
  }
  return best;
}

/** Levenshtein's distance: letters to insert, delete or replace. */
function distance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 0; i < a.length; i++) {
    const row = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const replaced = (previous[j] ?? 0) + (a[i] === b[j] ? 0 : 1);
      row.push(Math.min(replaced, (previous[j + 1] ?? 0) + 1, (row[j] ?? 0) + 1));
    }
    previous = row;
  }
  return previous[b.length] ?? 0;
}
