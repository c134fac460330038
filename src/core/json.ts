// Reading JSON that came from a peer: every access is checked, what does not fit is an error that names
// the place, and nothing is believed by a cast.

/** A peer's document does not have the shape discovery has. */
export class MalformedDocument extends Error {
  override readonly name = 'MalformedDocument';
}

export type Json = Readonly<Record<string, unknown>>;

/** `value` as an object. */
export function object(value: unknown, where: string): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new MalformedDocument(`${where}: not an object`);
  }
  return value as Json;
}

/** `value` as a list; absent and null are the empty list, as Go reads them. */
export function list(value: unknown, where: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new MalformedDocument(`${where}: not a list`);
  return value;
}

/** `value` as a string; absent and null are ''. */
export function text(value: unknown, where: string): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw new MalformedDocument(`${where}: not a string`);
  return value;
}

/** `value` as a string that must not be empty. */
export function name(value: unknown, where: string): string {
  const found = text(value, where);
  if (found === '') throw new MalformedDocument(`${where}: empty`);
  return found;
}

/** `value` as a list of strings. */
export function texts(value: unknown, where: string): readonly string[] {
  return list(value, where).map((item) => text(item, where));
}

/** Checks `kind` of a document, so that an error page or a Status is not taken for an empty list. */
export function expectKind(doc: Json, kind: string): void {
  if (doc['kind'] !== kind)
    throw new MalformedDocument(`kind is ${JSON.stringify(doc['kind'])}, not ${kind}`);
}
