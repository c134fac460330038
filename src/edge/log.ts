// The process's logger: pino, JSON lines or text for people. What must never be written is struck out here, once,
// whoever logs it.

import type { FastifyBaseLogger } from 'fastify';
import { pino } from 'pino';
import pretty from 'pino-pretty';

export interface LogSettings {
  readonly level: string;
  readonly format: 'json' | 'text';
}

const SECRET = ['authorization', 'cookie', '*.authorization', '*.cookie', 'headers', '*.headers'];

/** Logs to standard output. */
export function createLog({ level, format }: LogSettings): FastifyBaseLogger {
  const options = { level, base: null, redact: { paths: SECRET, censor: '[redacted]' } };
  return format === 'text'
    ? pino(options, pretty({ colorize: false, ignore: 'pid,hostname' }))
    : pino(options);
}
