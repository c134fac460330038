// Quantities as people write them on a command line: Go durations and byte sizes. It never knows which
// flag a text belongs to, nor what range is sane for it.

const MS_PER_UNIT: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3, // U+00B5, the micro sign
  μs: 1e-3, // U+03BC, the Greek letter; Go takes both
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

const PART = /(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g;
const DURATION = new RegExp(`^(?:${PART.source})+$`);

/**
 * Go's time.ParseDuration for lengths of time: `500ms`, `10s`, `1m30s`, `1.5s`, `0`. Returns whole
 * milliseconds (rounded), or undefined where the text is no such duration; a sign is none either.
 */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  if (!DURATION.test(text)) return undefined;
  let ms = 0;
  for (const [, number, unit] of text.matchAll(PART)) ms += Number(number) * (MS_PER_UNIT[unit ?? ''] ?? NaN);
  return Math.round(ms);
}

const BYTES_PER_UNIT: Readonly<Record<string, number>> = { '': 1, Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3 };

/**
 * A byte size: `1048576`, `64KiB`, `1MiB`, `1GiB`, or as Kubernetes quantities `64Ki`, `1Mi`, `1Gi`.
 * Returns bytes, or undefined where the text is no such size.
 */
export function parseBytes(text: string): number | undefined {
  const match = /^(\d+)(?:(Ki|Mi|Gi)B?)?$/.exec(text);
  if (!match) return undefined;
  return Number(match[1]) * (BYTES_PER_UNIT[match[2] ?? ''] ?? NaN);
}
