import { describe, expect, it } from 'vitest';
import { configOf, LISTENER, MINIMAL, PEER, problemsOf } from './memory.ts';

const NAME = 'NAME may have letters, digits and . _ : - [ ] only';

describe('a problem with peers from flags', () => {
  it.each([
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
  ] as [string[], string[]][])('%j', (argv, problems) => {
    expect(problemsOf([...MINIMAL, ...argv])).toEqual(problems);
  });

  it.each([
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

describe('defaults for peers that say nothing', () => {
  it('are the values without NAME', () => {
    expect(configOf(MINIMAL).peerDefaults).toEqual({
      ca: '<ca.crt>',
      caFile: 'ca.crt',
      serverName: 'kubernetes.default.svc',
    });
    expect(configOf([...MINIMAL, '--peer-server-name=x.y']).peerDefaults.serverName).toBe('x.y');
  });

  it('have no CA where every peer has its own', () => {
    const argv = [...LISTENER, '--peer-address=a=a:1', '--peer-ca-file=a=a.crt'];
    expect(configOf(argv).peerDefaults).toEqual({ serverName: 'kubernetes.default.svc' });
  });
});

const CA = '--peer-ca-file=ca.crt';
const START = '--peer-endpointslices: needs peers to start from (--peer-address or --peer-config)';
const TRUST = '--peer-endpointslices: needs a --peer-ca-file without NAME, to verify the peers it brings';
const SLICES = '--peer-endpointslices=default/kubernetes';

describe('peer sources together', () => {
  it.each([
    [['--peer-config=two.yaml', CA]],
    [['--peer-config=own.yaml']],
    [['--peer-config=slices.yaml', CA]],
    [['--peer-config=two.yaml', CA, SLICES]],
  ])('%j needs no --peer-address', (argv) => {
    const config = configOf([...LISTENER, ...argv]);
    expect(config.peers).toEqual([]);
    expect(config.peerConfig).toBeDefined();
  });

  it('keep flag peers beside the others', () => {
    const config = configOf([...MINIMAL, '--peer-config=two.yaml', SLICES]);
    expect(config.peers.map((p) => p.name)).toEqual(['a']);
  });

  it('may call one address alike', () => {
    expect(problemsOf([...MINIMAL, '--peer-config=same.yaml'])).toEqual([]);
  });

  it.each([
    [[SLICES, CA], [START]],
    [[SLICES], [START, TRUST]],
    [[SLICES, '--peer-address=a=a:1', '--peer-ca-file=a=a.crt'], [TRUST]],
    // Given and refused is not missing.
    [
      [SLICES, '--peer-address=a:1', '--peer-ca-file=missing.crt'],
      ['--peer-ca-file: no such file: missing.crt'],
    ],
    [['--peer-config=two.yaml', '--peer-ca-file=missing.crt'], ['--peer-ca-file: no such file: missing.crt']],
    [
      ['--peer-config=two.yaml'],
      [0, 1].map(
        (i) => `--peer-config: two.yaml: peers[${i}]: no CA (give caFile, or --peer-ca-file without NAME)`,
      ),
    ],
    [
      ['--peer-config=slices.yaml'],
      ['--peer-config: slices.yaml: EndpointSlices need a --peer-ca-file without NAME'],
    ],
    [['--peer-config=missing.yaml', CA], ['--peer-config: no such file: missing.yaml']],
    [['--peer-config=empty.yaml', CA], ['--peer-config: empty.yaml: empty']],
    [['--peer-config=bad.yaml', CA], ['--peer-config: bad.yaml: peers[0]: not HOST:PORT']],
    [
      ['--peer-config=clash.yaml', ...PEER],
      ['--peer-config: clash.yaml: peer a has another address than --peer-address gives it'],
    ],
    ...['kubernetes', '/kubernetes', 'default/', 'a/b/c', 'Default/kubernetes', 'a.b/c', 'a/-b'].map(
      (text) => [
        [...PEER, `--peer-endpointslices=${text}`],
        [`--peer-endpointslices ${text}: not NAMESPACE/SERVICE, such as default/kubernetes`],
      ],
    ),
  ])('%j', (argv, problems) => {
    expect(problemsOf([...LISTENER, ...argv])).toEqual(problems);
  });
});
