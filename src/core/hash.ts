// Two small hashes for spreading requests over peers. Not for secrets: nothing here is hard to invert.

/** FNV-1a of the UTF-16 units of `text`, 32 bits unsigned. */
export function hash32(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** MurmurHash3's finalizer: every input bit moves every output bit, so that close inputs end far apart. */
export function mix32(value: number): number {
  let h = value;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
