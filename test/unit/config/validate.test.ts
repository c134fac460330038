import { describe, expect, it } from 'vitest';
import type { Config, FileReader, FileResult } from '../../../src/config/config.ts';
import { FLAGS } from '../../../src/config/flags.ts';
import { validate } from '../../../src/config/validate.ts';

// A disk in memory: `X.crt`, `X.key`, `X.token` exist unless X is `missing`; X.crt is for X.key.
const reader =
  (extension: string) =>
  (file: string): FileResult =>
    file.endsWith(`.${extension}`) && !file.includes('missing')
      ? { ok: true, text: `<${file}>` }
      : { ok: false, problem: `no such file: ${file}` };
const stem = (text: string): string => text.replace(/\.\w+>$/, '');
const files: FileReader = {
  certificates: reader('crt'),
  privateKey: reader('key'),
  token: reader('token'),
  belongTogether: (cert, key) => stem(cert) === stem(key),
};

const LISTENER = ['--tls-cert-file=s.crt', '--tls-private-key-file=s.key'];
const PEER = ['--peer-address=a=10.0.0.1:6443', '--peer-ca-file=ca.crt'];
const MINIMAL = [...LISTENER, ...PEER];

function configOf(argv: readonly string[]): Config {
  const result = validate(argv, files);
  if (!result.ok) throw new Error(result.problems.join('\n'));
  return result.config;
}
function problemsOf(argv: readonly string[]): readonly string[] {
  const result = validate(argv, files);
  return result.ok ? [] : result.problems;
}

const FRONT_PROXY = ['--proxy-client-cert-file=f.crt', '--proxy-client-key-file=f.key'];
const PAIR = { certFile: 'f.crt', keyFile: 'f.key', cert: '<f.crt>', key: '<f.key>' };
const twoPeers = ['--peer-address=b=10.0.0.2:6443'];
const firstPeer = (c: Config) => c.peers[0];

type Row = readonly [
  flag: keyof typeof FLAGS,
  pick: (config: Config) => unknown,
  byDefault: unknown,
  argv: readonly string[],
  want: unknown,
];

const ROWS: readonly Row[] = [
  ['bind-address', (c) => c.listen.host, '0.0.0.0', ['--bind-address=[::1]'], '::1'],
  ['secure-port', (c) => c.listen.port, 8443, ['--secure-port=0'], 0],
  [
    'tls-cert-file',
    (c) => [c.listen.tls.certFile, c.listen.tls.cert],
    ['s.crt', '<s.crt>'],
    ['--tls-cert-file=f.crt', '--tls-private-key-file=f.key'],
    ['f.crt', '<f.crt>'],
  ],
  [
    'tls-private-key-file',
    (c) => [c.listen.tls.keyFile, c.listen.tls.key],
    ['s.key', '<s.key>'],
    ['--tls-cert-file=f.crt', '--tls-private-key-file=f.key'],
    ['f.key', '<f.key>'],
  ],
  ['max-header-bytes', (c) => c.maxHeaderBytes, 1_048_576, ['--max-header-bytes=64KiB'], 65_536],
  [
    'peer-address',
    (c) => c.peers.map((p) => [p.name, p.host, p.port]),
    [['a', '10.0.0.1', 6443]],
    ['--peer-address=[::1]:7443'],
    [
      ['a', '10.0.0.1', 6443],
      ['[::1]:7443', '::1', 7443],
    ],
  ],
  [
    'peer-ca-file',
    (c) => c.peers.map((p) => [p.caFile, p.ca]),
    [['ca.crt', '<ca.crt>']],
    [...twoPeers, '--peer-ca-file=b=b.crt'],
    [
      ['ca.crt', '<ca.crt>'],
      ['b.crt', '<b.crt>'],
    ],
  ],
  [
    'peer-server-name',
    (c) => c.peers.map((p) => p.serverName),
    ['kubernetes.default.svc'],
    [...twoPeers, '--peer-server-name=b=b.example'],
    ['kubernetes.default.svc', 'b.example'],
  ],
  [
    'peer-node',
    (c) => c.peers.map((p) => p.node),
    [undefined],
    [...twoPeers, '--peer-node=b=node-b'],
    [undefined, 'node-b'],
  ],
  ['peer-zone', (c) => firstPeer(c)?.zone, undefined, ['--peer-zone=a=eu-1'], 'eu-1'],
  ['proxy-client-cert-file', (c) => c.frontProxy, undefined, FRONT_PROXY, PAIR],
  ['proxy-client-key-file', (c) => c.frontProxy?.keyFile, undefined, FRONT_PROXY, 'f.key'],
  [
    'requestheader-username-headers',
    (c) => c.requestHeaders.username,
    ['X-Remote-User'],
    ['--requestheader-username-headers=X-U, X-V', '--requestheader-username-headers=X-W'],
    ['X-U', 'X-V', 'X-W'],
  ],
  [
    'requestheader-group-headers',
    (c) => c.requestHeaders.group,
    ['X-Remote-Group'],
    ['--requestheader-group-headers=X-G'],
    ['X-G'],
  ],
  [
    'requestheader-extra-headers-prefix',
    (c) => c.requestHeaders.extraPrefix,
    ['X-Remote-Extra-'],
    ['--requestheader-extra-headers-prefix=X-E-'],
    ['X-E-'],
  ],
  [
    'requestheader-uid-headers',
    (c) => c.requestHeaders.uid,
    [],
    ['--requestheader-uid-headers=X-Remote-Uid'],
    ['X-Remote-Uid'],
  ],
  [
    'peer-discovery-token-file',
    (c) => [c.discovery.tokenFile, c.discovery.token],
    [undefined, undefined],
    ['--peer-discovery-token-file=d.token'],
    ['d.token', '<d.token>'],
  ],
  [
    'peer-discovery-interval',
    (c) => c.discovery.intervalMs,
    10_000,
    ['--peer-discovery-interval=1m30s'],
    90_000,
  ],
  ['peer-discovery-timeout', (c) => c.discovery.timeoutMs, 5000, ['--peer-discovery-timeout=1.5s'], 1500],
  ['peer-probe-interval', (c) => c.probe.intervalMs, 2000, ['--peer-probe-interval=50ms'], 50],
  ['peer-probe-timeout', (c) => c.probe.timeoutMs, 1000, ['--peer-probe-timeout=2s'], 2000],
  ['peer-failure-threshold', (c) => c.probe.failureThreshold, 3, ['--peer-failure-threshold=1'], 1],
  ['peer-hold', (c) => c.holdMs, 300_000, ['--peer-hold=0'], 0],
  ['peer-connect-timeout', (c) => c.connectTimeoutMs, 2000, ['--peer-connect-timeout=3s'], 3000],
  ['peer-max-connections', (c) => c.maxConnections, 256, ['--peer-max-connections=8'], 8],
  ['request-timeout', (c) => c.requestTimeoutMs, 60_000, ['--request-timeout=1h'], 3_600_000],
  ['unserved-resource-status', (c) => c.unservedResourceStatus, 503, ['--unserved-resource-status=404'], 404],
  ['ops-bind-address', (c) => c.ops.host, '127.0.0.1', ['--ops-bind-address=::'], '::'],
  ['ops-port', (c) => c.ops.port, 8444, ['--ops-port=9'], 9],
  ['log-level', (c) => c.log.level, 'info', ['--log-level=debug'], 'debug'],
  ['log-format', (c) => c.log.format, 'json', ['--log-format=text'], 'text'],
  ['access-log', (c) => c.log.access, 'errors', ['--access-log=all'], 'all'],
];

describe('every flag reaches Config', () => {
  it.each(ROWS)('--%s', (...[, pick, byDefault, argv, want]) => {
    expect(pick(configOf(MINIMAL))).toEqual(byDefault);
    expect(pick(configOf([...MINIMAL, ...argv]))).toEqual(want);
  });

  it('has a row here', () => {
    expect(ROWS.map(([flag]) => flag)).toEqual(Object.keys(FLAGS));
  });
});

describe('a Config', () => {
  it('is frozen all the way down', () => {
    const frozen = (value: unknown): boolean =>
      typeof value !== 'object' ||
      value === null ||
      (Object.isFrozen(value) && Object.values(value).every(frozen));
    expect(frozen(configOf([...MINIMAL, ...FRONT_PROXY]))).toBe(true);
  });

  it('is plain data without fields for what was not given', () => {
    const config = configOf(MINIMAL);
    expect(structuredClone(config)).toEqual(config);
    expect(config).not.toHaveProperty('frontProxy');
    expect(config.discovery).not.toHaveProperty('token');
    expect(Object.keys(config.peers[0]!).sort()).toEqual([
      'ca',
      'caFile',
      'host',
      'name',
      'port',
      'serverName',
    ]);
  });

  it('needs no CA for all where every peer has its own', () => {
    const argv = [
      '--peer-address=a:1',
      '--peer-ca-file=a:1=a.crt',
      '--peer-address=b=b:1',
      '--peer-ca-file=b=b.crt',
    ];
    expect(configOf([...LISTENER, ...argv]).peers.map((p) => p.caFile)).toEqual(['a.crt', 'b.crt']);
  });

  it('takes a value for all peers and one for some in any order, also before the peer', () => {
    const argv = ['--peer-server-name=a=one.example', '--peer-server-name=all.example', ...twoPeers];
    expect(configOf([...argv, ...MINIMAL]).peers.map((p) => [p.name, p.serverName])).toEqual([
      ['b', 'all.example'],
      ['a', 'one.example'],
    ]);
  });
});

const NAME = 'NAME may have letters, digits and . _ : - [ ] only';

describe('a problem in the user’s words', () => {
  it.each([
    [['--bind-address=a/b'], ['--bind-address a/b: not an address']],
    [['--ops-bind-address=1.2.3.999'], ['--ops-bind-address 1.2.3.999: not an address']],
    [['--secure-port=65536'], ['--secure-port 65536: must be a whole number from 0 to 65535']],
    [['--ops-port=http'], ['--ops-port http: must be a whole number from 0 to 65535']],
    [['--peer-failure-threshold=0'], ['--peer-failure-threshold 0: must be a whole number from 1 to 1000']],
    [['--peer-max-connections=0'], ['--peer-max-connections 0: must be a whole number from 1 to 65535']],
    [
      ['--max-header-bytes=1'],
      ['--max-header-bytes 1: must be a size such as 65536, 64KiB or 1MiB from 4KiB to 16MiB'],
    ],
    ...[
      'peer-discovery-interval',
      'peer-discovery-timeout',
      'peer-probe-interval',
      'peer-probe-timeout',
      'peer-connect-timeout',
      'request-timeout',
    ].map((flag) => [
      [`--${flag}=0s`],
      [`--${flag} 0s: must be a duration such as 500ms, 10s or 1m30s from 1ms to 480h`],
    ]),
    [
      ['--peer-hold=481h'],
      ['--peer-hold 481h: must be a duration such as 500ms, 10s or 1m30s from 0s to 480h'],
    ],
    [['--unserved-resource-status=500'], ['--unserved-resource-status 500: must be one of 503, 404']],
    [['--log-level=trace'], ['--log-level trace: must be one of debug, info, warn, error']],
    [['--log-format=pretty'], ['--log-format pretty: must be one of json, text']],
    [['--access-log=some'], ['--access-log some: must be one of none, errors, all']],
    [['--client-ca-file=ca.crt'], ['--client-ca-file: unknown flag']],
    [['--peer-adress=b:1'], ['--peer-adress: unknown flag (did you mean --peer-address?)']],
    [['serve'], ['serve: unexpected argument (serve takes flags only)']],

    [['--tls-cert-file=missing.crt'], ['--tls-cert-file: no such file: missing.crt']],
    [['--tls-private-key-file=missing.key'], ['--tls-private-key-file: no such file: missing.key']],
    [
      ['--tls-private-key-file=o.key'],
      ['--tls-private-key-file: the key in o.key is not for the certificate in s.crt'],
    ],
    [['--proxy-client-cert-file=f.crt'], ['--proxy-client-cert-file: given without --proxy-client-key-file']],
    [['--proxy-client-key-file=f.key'], ['--proxy-client-key-file: given without --proxy-client-cert-file']],
    [
      [...FRONT_PROXY, '--proxy-client-key-file=o.key'],
      ['--proxy-client-key-file: the key in o.key is not for the certificate in f.crt'],
    ],
    [
      ['--proxy-client-key-file=missing.key'],
      [
        '--proxy-client-key-file: given without --proxy-client-cert-file',
        '--proxy-client-key-file: no such file: missing.key',
      ],
    ],
    [
      ['--peer-discovery-token-file=missing.token'],
      ['--peer-discovery-token-file: no such file: missing.token'],
    ],

    [['--peer-address=a:b'], ['--peer-address a:b: not HOST:PORT']],
    [['--peer-address=b=::1:6443'], ['--peer-address b=::1:6443: not HOST:PORT']],
    [['--peer-address=b='], ['--peer-address b=: not HOST:PORT']],
    [['--peer-address==b:1'], [`--peer-address =b:1: ${NAME}`]],
    [['--peer-address=b c=b:1'], [`--peer-address b c=b:1: ${NAME}`]],
    [['--peer-address=..=b:1'], [`--peer-address ..=b:1: ${NAME}`]],
    [['--peer-address=a=b:1'], ['--peer-address a=b:1: another peer has the name a']],
    [['--peer-address=b=10.0.0.1:6443'], ['--peer-address b=10.0.0.1:6443: peer a has the same address']],
    [
      ['--peer-address=b=[::1]:1', '--peer-address=c=[0::1]:1'],
      ['--peer-address c=[0::1]:1: peer b has the same address'],
    ],
    // Of a peer whose address is refused nothing else is said.
    [
      ['--peer-address=b=b', '--peer-node=b=n', '--peer-ca-file=b=b.crt'],
      ['--peer-address b=b: not HOST:PORT'],
    ],

    [['--peer-ca-file=missing.crt'], ['--peer-ca-file missing.crt: given twice for all peers']],
    [['--peer-ca-file=a=missing.crt'], ['--peer-ca-file: no such file: missing.crt']],
    [['--peer-ca-file=b=b.crt'], ['--peer-ca-file b=b.crt: no peer is called b']],
    [['--peer-ca-file=a='], ['--peer-ca-file a=: not [NAME=]FILE']],
    [['--peer-server-name=10.0.0.1'], ['--peer-server-name 10.0.0.1: not a DNS name']],
    [['--peer-server-name=a=x y'], ['--peer-server-name a=x y: not a DNS name']],
    [['--peer-server-name=b=x'], ['--peer-server-name b=x: no peer is called b']],
    [['--peer-server-name=*=x'], ['--peer-server-name *=x: no peer is called *']],
    [['--peer-node=n'], ['--peer-node n: not NAME=NODE']],
    [['--peer-node==n'], ['--peer-node =n: not NAME=NODE']],
    [['--peer-node=a='], ['--peer-node a=: not NAME=NODE']],
    [['--peer-node=b=n'], ['--peer-node b=n: no peer is called b']],
    [['--peer-node=a=n n'], ['--peer-node a=n n: not the name of a node']],
    [['--peer-node=a=n', '--peer-node=a=m'], ['--peer-node a=m: given twice for a']],
    [['--peer-node=*=n'], ['--peer-node *=n: no peer is called *']],
    [['--peer-zone=z'], ['--peer-zone z: not NAME=ZONE']],
    [['--peer-zone=b=z'], ['--peer-zone b=z: no peer is called b']],
    [['--peer-zone=a=-'], ['--peer-zone a=-: not the name of a zone']],

    [
      ['--requestheader-username-headers=X User'],
      ['--requestheader-username-headers X User: not the name of a header'],
    ],
    [['--requestheader-group-headers=X:'], ['--requestheader-group-headers X:: not the name of a header']],
    [
      ['--requestheader-extra-headers-prefix= '],
      ['--requestheader-extra-headers-prefix: a header name is blank'],
    ],
    [['--requestheader-uid-headers=X-Uid,'], ['--requestheader-uid-headers: a header name is blank']],
    [
      ['--requestheader-uid-headers=x-remote-USER'],
      ['--requestheader-uid-headers x-remote-USER: --requestheader-username-headers names the same header'],
    ],
  ] as [string[], string[]][])('%j', (argv, problems) => {
    expect(problemsOf([...MINIMAL, ...argv])).toEqual(problems);
  });

  it.each([
    [[...PEER], ['--tls-cert-file: required', '--tls-private-key-file: required']],
    [[...PEER, '--tls-cert-file=s.crt'], ['--tls-cert-file: given without --tls-private-key-file']],
    [[...PEER, '--tls-private-key-file=s.key'], ['--tls-private-key-file: given without --tls-cert-file']],
    [[...LISTENER], ['--peer-address: required, at least once']],
    [
      [...LISTENER, '--peer-ca-file=missing.crt'],
      ['--peer-address: required, at least once', '--peer-ca-file: no such file: missing.crt'],
    ],
    // A CA that cannot be read is one problem, not one for each peer too.
    [
      [...LISTENER, '--peer-address=a:1', '--peer-address=b:1', '--peer-ca-file=missing.crt'],
      ['--peer-ca-file: no such file: missing.crt'],
    ],
    [
      [
        ...LISTENER,
        '--peer-address=a:1',
        '--peer-address=b=b:1',
        '--peer-address=c=c:1',
        '--peer-ca-file=c=c.crt',
      ],
      [
        '--peer-ca-file: peer a:1 has no CA (give FILE, or a:1=FILE)',
        '--peer-ca-file: peer b has no CA (give FILE, or b=FILE)',
      ],
    ],
  ])('%j', (argv, problems) => {
    expect(problemsOf(argv)).toEqual(problems);
  });
});

describe('all problems', () => {
  it('come at once', () => {
    const argv = [
      'stray',
      '--foo=1',
      '--secure-port=x',
      '--peer-hold=x',
      '--bind-address=/',
      '--tls-cert-file=missing.crt',
      '--ops-bind-address=/',
      '--peer-address=a',
      '--peer-address=b=b:1',
      '--peer-ca-file=b=missing.crt',
      '--peer-server-name=c=x',
      '--peer-node=x',
      '--peer-zone=c=z',
      '--proxy-client-key-file=f.key',
      '--requestheader-uid-headers= ',
      '--peer-discovery-token-file=missing.token',
      '--log-level',
    ];
    expect(problemsOf(argv)).toEqual([
      'stray: unexpected argument (serve takes flags only)',
      '--foo: unknown flag',
      '--log-level: needs a value',
      '--secure-port x: must be a whole number from 0 to 65535',
      '--peer-hold x: must be a duration such as 500ms, 10s or 1m30s from 0s to 480h',
      '--bind-address /: not an address',
      '--tls-cert-file: given without --tls-private-key-file',
      '--tls-cert-file: no such file: missing.crt',
      '--ops-bind-address /: not an address',
      '--peer-address a: not HOST:PORT',
      '--peer-ca-file: no such file: missing.crt',
      '--peer-server-name c=x: no peer is called c',
      '--peer-node x: not NAME=NODE',
      '--peer-zone c=z: no peer is called c',
      '--proxy-client-key-file: given without --proxy-client-cert-file',
      '--requestheader-uid-headers: a header name is blank',
      '--peer-discovery-token-file: no such file: missing.token',
    ]);
  });

  it('of an empty command line are what is required', () => {
    expect(problemsOf([])).toEqual([
      '--tls-cert-file: required',
      '--tls-private-key-file: required',
      '--peer-address: required, at least once',
    ]);
  });
});
