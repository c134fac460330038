import { describe, expect, it } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { FLAGS } from '../../../src/config/flags.ts';
import { configOf, FRONT_PROXY, LISTENER, MINIMAL, PEER, problemsOf } from './memory.ts';

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
  [
    'client-ca-file',
    (c) => c.clientCa,
    undefined,
    [...FRONT_PROXY, '--client-ca-file=c.crt'],
    { file: 'c.crt', pem: '<c.crt>' },
  ],
  [
    'discovery-authorization',
    (c) => c.discoveryAuthorization,
    'peer',
    ['--discovery-authorization=none'],
    'none',
  ],
  ['max-header-bytes', (c) => c.maxHeaderBytes, 1_048_576, ['--max-header-bytes=64KiB'], 65_536],
  ['goaway-chance', (c) => c.goawayChance, 0, ['--goaway-chance=0.02'], 0.02],
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
  ['peer-config', (c) => c.peerConfig, undefined, ['--peer-config=two.yaml'], { file: 'two.yaml' }],
  [
    'peer-endpointslices',
    (c) => c.peerEndpointSlices,
    undefined,
    ['--peer-endpointslices=default/kubernetes'],
    { namespace: 'default', service: 'kubernetes' },
  ],
  ['node-name', (c) => c.place, {}, ['--node-name=n1'], { node: 'n1' }],
  ['zone', (c) => c.place, {}, ['--zone=eu-1'], { zone: 'eu-1' }],
  [
    'peer-traffic-distribution',
    (c) => c.trafficDistribution,
    undefined,
    ['--peer-traffic-distribution=PreferSameNode'],
    { value: 'PreferSameNode' },
  ],
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
  ['shutdown-delay-duration', (c) => c.shutdown.delayMs, 0, ['--shutdown-delay-duration=5s'], 5000],
  ['shutdown-timeout', (c) => c.shutdown.timeoutMs, 30_000, ['--shutdown-timeout=0'], 0],
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
    expect(frozen(configOf([...MINIMAL, ...FRONT_PROXY, '--client-ca-file=c.crt']))).toBe(true);
  });

  it('is plain data without fields for what was not given', () => {
    const config = configOf(MINIMAL);
    expect(structuredClone(config)).toEqual(config);
    for (const absent of [
      'frontProxy',
      'clientCa',
      'peerConfig',
      'peerEndpointSlices',
      'trafficDistribution',
    ]) {
      expect(config).not.toHaveProperty(absent);
    }
    expect(config.warnings).toEqual([]);
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
    [
      ['--shutdown-delay-duration=-1s'],
      ['--shutdown-delay-duration -1s: must be a duration such as 500ms, 10s or 1m30s from 0s to 480h'],
    ],
    [
      ['--shutdown-timeout=1'],
      ['--shutdown-timeout 1: must be a duration such as 500ms, 10s or 1m30s from 0s to 480h'],
    ],
    [['--goaway-chance=0.021'], ['--goaway-chance 0.021: must be a number from 0 to 0.02']],
    [['--goaway-chance=2%'], ['--goaway-chance 2%: must be a number from 0 to 0.02']],
    [['--discovery-authorization=all'], ['--discovery-authorization all: must be one of peer, none']],
    [['--unserved-resource-status=500'], ['--unserved-resource-status 500: must be one of 503, 404']],
    [['--log-level=trace'], ['--log-level trace: must be one of debug, info, warn, error']],
    [['--log-format=pretty'], ['--log-format pretty: must be one of json, text']],
    [['--access-log=some'], ['--access-log some: must be one of none, errors, all']],
    [['--requestheader-client-ca-file=ca.crt'], ['--requestheader-client-ca-file: unknown flag']],
    [['--peer-adress=b:1'], ['--peer-adress: unknown flag (did you mean --peer-address?)']],
    [['serve'], ['serve: unexpected argument (serve takes flags only)']],

    [['--tls-cert-file=missing.crt'], ['--tls-cert-file: no such file: missing.crt']],
    [['--tls-private-key-file=missing.key'], ['--tls-private-key-file: no such file: missing.key']],
    [
      ['--tls-private-key-file=o.key'],
      ['--tls-private-key-file: the key in o.key is not for the certificate in s.crt'],
    ],
    [
      ['--client-ca-file=ca.crt'],
      [
        '--client-ca-file: needs --proxy-client-cert-file and --proxy-client-key-file, to vouch for callers towards the peers',
      ],
    ],
    [[...FRONT_PROXY, '--client-ca-file=missing.crt'], ['--client-ca-file: no such file: missing.crt']],
    // Half a pair is one problem, not two.
    [
      ['--client-ca-file=ca.crt', '--proxy-client-cert-file=f.crt'],
      ['--proxy-client-cert-file: given without --proxy-client-key-file'],
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
  ] as [string[], string[]][])('%j', (argv, problems) => {
    expect(problemsOf([...MINIMAL, ...argv])).toEqual(problems);
  });

  it.each([
    [[...PEER], ['--tls-cert-file: required', '--tls-private-key-file: required']],
    [[...PEER, '--tls-cert-file=s.crt'], ['--tls-cert-file: given without --tls-private-key-file']],
    [[...PEER, '--tls-private-key-file=s.key'], ['--tls-private-key-file: given without --tls-cert-file']],
    [[...LISTENER], ['--peer-address: required, at least once']],
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
