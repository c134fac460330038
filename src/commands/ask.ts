// Asks the ops listener of a running proxy. Knows nothing of what is asked.

/** GETs `path` and parses the JSON. Throws an Error in the user's words. */
export async function askOps(opsUrl: string, path: string): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(`${opsUrl}${path}`, { signal: AbortSignal.timeout(10_000) });
  } catch (cause) {
    throw new Error(`cannot reach a proxy at ${opsUrl} (--ops-url names another)`, { cause });
  }
  if (!response.ok) throw new Error(`${opsUrl}${path}: status ${response.status}`);
  return response.json();
}

/** Rows as columns of equal width, headings first. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => (row[i] ?? '').length)));
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('   ')
        .trimEnd(),
    )
    .join('\n');
}
