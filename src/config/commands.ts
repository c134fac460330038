// The one table of commands, with the flags of those that talk to a running proxy or to files: help.ts makes
// `uvip help` from it, client-flags.ts reads command lines by it. The flags of `serve` are in flags.ts.
import { oneOf, optional, text, type FlagTable } from './flag.ts';

export interface Command {
  readonly operands: readonly string[];
  readonly help: string;
  readonly flags: FlagTable;
}

const asking = {
  'ops-url': text('URL', 'http://127.0.0.1:8444', 'Where the proxy to ask has its ops listener.'),
  output: oneOf(['table', 'json'], 'table', 'Shape of the answer.'),
};

/** In the order in which help shows them. */
export const COMMANDS = {
  serve: {
    operands: ['[flags]'],
    help: 'Runs the proxy, also with no command. Its flags: uvip serve --help.',
    flags: {},
  },
  certs: {
    operands: ['DIR'],
    help: 'Makes a complete set of certificates for development in DIR; never overwrites.',
    flags: {},
  },
  demo: {
    operands: [],
    help: 'Runs simulated API servers of different releases with the proxy in front, until Ctrl-C.',
    flags: {},
  },
  explain: {
    operands: ['[METHOD]', 'PATH'],
    help: 'Asks a running proxy how it would decide, and why; METHOD defaults to GET.',
    flags: {
      'as-node': optional('NODE', 'Decide as a proxy on this node would.', "the proxy's own"),
      'as-zone': optional('ZONE', 'Decide as a proxy in this zone would.', "the proxy's own"),
      ...asking,
    },
  },
  peers: {
    operands: [],
    help: 'Shows the peers of a running proxy: versions, states, what only some of them serve.',
    flags: asking,
  },
  hints: {
    operands: ['FILE'],
    help: 'Prints the EndpointSlices in FILE with hints written as for a trafficDistribution.',
    flags: {
      'traffic-distribution': optional(
        'PreferSameNode|PreferSameZone|PreferClose',
        'What hints are written for; none removes them.',
        'required',
      ),
    },
  },
  version: { operands: [], help: 'Prints the version.', flags: {} },
  help: { operands: [], help: 'Prints this.', flags: {} },
} as const satisfies Readonly<Record<string, Command>>;
