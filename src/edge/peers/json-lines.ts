// A stream of bytes -> the JSON values in its lines, however the bytes are cut. Bounded; knows nothing of watches.

import { MalformedDocument } from '../../core/json.ts';

// etcd takes objects up to 1.5 MiB; with managed fields, escapes and the old form in one event still far below.
const MAX_LINE_BYTES = 16 * 1_048_576;

const NEWLINE = 0x0a;

/** Yields one value per line. Throws MalformedDocument for what is no JSON, no UTF-8, or longer than `maxBytes`. */
export async function* jsonLines(
  stream: AsyncIterable<Uint8Array>,
  maxBytes = MAX_LINE_BYTES,
): AsyncGenerator<unknown, void, undefined> {
  let parts: Uint8Array[] = [];
  let held = 0;
  const hold = (part: Uint8Array) => {
    held += part.length;
    if (held > maxBytes) throw new MalformedDocument(`a line of more than ${maxBytes} bytes`);
    if (part.length > 0) parts.push(part);
  };
  const line = (): readonly unknown[] => {
    const bytes = Buffer.concat(parts);
    parts = [];
    held = 0;
    return parse(bytes);
  };
  for await (const chunk of stream) {
    let from = 0;
    for (let to = chunk.indexOf(NEWLINE); to >= 0; to = chunk.indexOf(NEWLINE, from)) {
      hold(chunk.subarray(from, to));
      yield* line();
      from = to + 1;
    }
    hold(chunk.subarray(from));
  }
  yield* line();
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** One value, or none for an empty line. What the bytes were is not repeated: errors end up in the log. */
function parse(bytes: Uint8Array): readonly unknown[] {
  try {
    const text = UTF8.decode(bytes);
    return text.trim() === '' ? [] : [JSON.parse(text) as unknown];
  } catch {
    throw new MalformedDocument('a line that is not JSON');
  }
}
