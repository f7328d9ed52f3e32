import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkConfig, DEFAULTS, simulatedNodes } from '../server/config.ts'
import { readFlags } from './read-flags.ts'
import { FLAGS } from './serve-flags.ts'

const refusal = (...args: string[]): string => {
  try {
    checkConfig(readFlags(args))
  } catch (error) {
    return (error as Error).message
  }
  throw new Error(`${args.join(' ')} was taken`)
}

test('a flag takes its value from after the equals sign or from the next argument', () => {
  assert.equal(readFlags(['--secure-port', '0']).port, 0)
  assert.equal(readFlags(['--secure-port=0']).port, 0)
  assert.equal(readFlags(['--data-dir=--odd']).dataDir, '--odd')
  assert.equal(readFlags(['--data-dir', 'a', '--data-dir', 'b']).dataDir, 'b')
})

test('without flags everything is as the help says', () => {
  const { kubeconfig, ...config } = readFlags([])
  assert.deepEqual({ ...config, kubeconfig: undefined }, DEFAULTS)
  assert.match(kubeconfig!, /keelson-data.admin\.kubeconfig$/)
})

test('every flag says that its value is missing, and a switch alone means true', () => {
  for (const { name, takes, isSwitch } of FLAGS)
    for (const args of [[`--${name}`], [`--${name}`, '--log-level=warn']])
      if (isSwitch) readFlags(args)
      else assert.equal(refusal(...args), `--${name} needs a value: --${name} ${takes}`)
  assert.equal(readFlags(['--anonymous-auth']).anonymousAuth, true)
  assert.equal(readFlags(['--anonymous-auth', '--log-level=info']).anonymousAuth, true)
  for (const no of [['--anonymous-auth=false'], ['--anonymous-auth', 'false'], ['--anonymous_auth=F'], ['--anonymous-auth=0']])
    assert.equal(readFlags(no).anonymousAuth, false)
})

test('lists given several times add up, and may be empty', () => {
  const plugins = ['--disable-admission-plugins=ServiceAccount,Priority', '--disable-admission-plugins', 'RuntimeClass']
  assert.deepEqual(readFlags(plugins).disableAdmissionPlugins, ['ServiceAccount', 'Priority', 'RuntimeClass'])
  for (const empty of [['--disable-admission-plugins='], ['--disable-admission-plugins', '']])
    assert.deepEqual(readFlags(empty).disableAdmissionPlugins, [])
  assert.deepEqual(readFlags(['--authorization-mode=Node', '--authorization-mode=RBAC']).authorizationMode, ['Node', 'RBAC'])
  assert.deepEqual(readFlags(['--tls-san=a.example,192.0.2.1', '--tls_san=b.example']).tlsSans, ['a.example', '192.0.2.1', 'b.example'])
  assert.equal(
    readFlags(['--feature-gates=AllAlpha=true', '--feature-gates=WatchList=false']).featureGates,
    'AllAlpha=true,WatchList=false',
  )
})

test('names may be written with underscores, and an empty file name means none', () => {
  assert.equal(readFlags(['--secure_port=0']).port, 0)
  assert.equal(readFlags(['--token_auth_file', 'x', '--token-auth-file=']).tokenAuthFile, undefined)
  checkConfig(readFlags(['--oidc-issuer-url=', '--oidc-client-id=', '--oidc-signing-algs=']))
})

test('addresses and names for others are checked', () => {
  for (const bad of ['0.0.0.0', '::', 'host', '300.1.1.1'])
    assert.equal(refusal('--advertise-address', bad), `--advertise-address must be an IP address that others can reach, not "${bad}"`)
  assert.equal(refusal('--tls-san', 'not a name'), '--tls-san takes names and IP addresses, not "not a name"')
  checkConfig(readFlags(['--advertise-address=192.0.2.1', '--tls-san=*.example.org,fd00::1']))
})

test('values that make no sense are refused with what to write instead', () => {
  assert.equal(refusal('--secure-port', '65536'), '--secure-port must be a port between 0 and 65535, not 65536')
  assert.equal(refusal('--secure-port', 'http'), '--secure-port takes a number, not "http"')
  assert.equal(refusal('--anonymous-auth=maybe'), '--anonymous-auth takes true or false, not "maybe"')
  assert.equal(refusal('--store', 'etcd3'), '--store takes embedded, memory or etcd, not "etcd3"')
  assert.equal(refusal('--history-window', '10'), '--history-window takes a duration such as 90s or 10m, not "10"')
  assert.equal(refusal('--group-domain', 'Not A Name'), '--group-domain must be a DNS name such as k8s.io, not "Not A Name"')
  assert.equal(refusal('--data-dri', 'x'), 'unknown argument --data-dri; did you mean --data-dir? See keelson serve --help')
  assert.equal(refusal('--gibberish', 'x'), 'unknown argument --gibberish; see keelson serve --help')
  assert.equal(refusal('--port', '1'), 'unknown argument --port; did you mean --secure-port? See keelson serve --help')
})

test('the number of simulated nodes and their resources are checked', () => {
  assert.equal(readFlags(['--nodes', '3']).nodes, 3)
  assert.deepEqual(readFlags(['--node-capacity=cpu=4,memory=8Gi', '--node-capacity', 'example.com/gpu=2']).nodeCapacity, {
    cpu: '4',
    memory: '8Gi',
    'example.com/gpu': '2',
  })
  assert.equal(simulatedNodes(readFlags([])), 1)
  assert.equal(simulatedNodes(readFlags(['--nodes=3', '--controllers=none'])), 0)
  assert.equal(refusal('--nodes', '-1'), '--nodes takes a number, not "-1"')
  assert.equal(refusal('--nodes', '10001'), '--nodes: 10000 simulated nodes at most, not 10001')
  assert.equal(refusal('--node-capacity', 'cpu'), '--node-capacity takes RESOURCE=QUANTITY such as cpu=4, not "cpu"')
  assert.equal(refusal('--node-capacity', 'cpu=many'), '--node-capacity: cpu must be a quantity such as 4, 500m or 16Gi, not "many"')
  assert.equal(refusal('--node-capacity', 'a b=1'), '--node-capacity: "a b" is not the name of a resource')
  assert.equal(refusal('--node-capacity', 'pods=5k'), '--node-capacity: pods must be a number, 1000 at most, not "5k"')
})

test('an empty address does not mean every address, nor an empty directory the current one', () => {
  assert.throws(() => checkConfig({ ...DEFAULTS, host: '' }), /--bind-address must be an address; 0\.0\.0\.0 is every one/)
  assert.throws(() => checkConfig({ ...DEFAULTS, dataDir: '' }), /--data-dir must name a directory/)
})

test('issuers, keys, claims and plugins are gathered from all their flags', () => {
  const config = readFlags([
    '--service-account-issuer=https://a.example',
    '--service-account-issuer=b',
    '--service-account-key-file=one.pem',
    '--service-account-key-file=two.pem',
    '--api-audiences=api,kube',
    '--oidc-issuer-url=https://id.example',
    '--oidc-client-id=app',
    '--oidc-required-claim=team=red=blue',
    '--oidc-required-claim=__proto__=x',
    '--oidc-signing-algs=RS256,ES256',
    '--disable-admission-plugins=ServiceAccount,Priority',
  ])
  assert.deepEqual(config.serviceAccountIssuers, ['https://a.example', 'b'])
  assert.deepEqual(config.serviceAccountKeyFiles, ['one.pem', 'two.pem'])
  assert.deepEqual(config.apiAudiences, ['api', 'kube'])
  assert.deepEqual(Object.entries(config.oidc.requiredClaims), [
    ['team', 'red=blue'],
    ['__proto__', 'x'],
  ])
  assert.deepEqual(config.oidc.signingAlgorithms, ['RS256', 'ES256'])
  assert.deepEqual(config.disableAdmissionPlugins, ['ServiceAccount', 'Priority'])
  checkConfig(config)
})

test('what cannot be an issuer, a provider or a claim is refused', () => {
  assert.match(refusal('--service-account-issuer', '::'), /^--service-account-issuer must be a URL/)
  assert.equal(refusal('--api-audiences', 'a,,b'), '--api-audiences: an audience must not be empty')
  assert.match(refusal('--oidc-client-id', 'app'), /^--oidc-issuer-url and --oidc-client-id go together/)
  const provider = (url: string, ...more: string[]) => refusal('--oidc-issuer-url', url, '--oidc-client-id', 'app', ...more)
  for (const url of ['http://id.example', 'https://id.example?x=y', 'https://u@id.example', 'id'])
    assert.match(provider(url), /^--oidc-issuer-url must be an https URL/)
  assert.match(provider('https://kubernetes.default.svc.cluster.local'), /must not be the issuer of this server/)
  for (const bad of ['HS256', 'none']) assert.match(provider('https://id.example', '--oidc-signing-algs', bad), /takes RS256, .* not "/)
  assert.equal(refusal('--oidc-required-claim', 'team'), '--oidc-required-claim takes CLAIM=VALUE, not "team"')
})

test('flags of peers belong to the store on etcd, and fit each other', () => {
  const etcd = ['--store', 'etcd', '--etcd-servers', 'https://a:2379']
  const address = ['--peer-advertise-ip', '10.0.0.1', '--peer-advertise-port', '6443']
  const { peerAdvertiseIp, peerAdvertisePort } = checkConfig(readFlags([...etcd, ...address]))
  assert.deepEqual([peerAdvertiseIp, peerAdvertisePort], ['10.0.0.1', 6443])
  assert.equal(
    refusal('--peer-ca-file', 'a', ...address),
    '--peer-ca-file, --peer-advertise-ip, --peer-advertise-port: for --store etcd; a server on another store has no peers',
  )
  assert.match(refusal(...etcd, '--peer-advertise-ip', '10.0.0.1'), /go together/)
  assert.match(refusal(...etcd, '--peer-advertise-port', '6443'), /go together/)
  for (const ip of ['a', '0.0.0.0', '10.0.0.1:6443'])
    assert.match(refusal(...etcd, '--peer-advertise-ip', ip, '--peer-advertise-port', '1'), /must be an IP address/)
  for (const port of ['0', '65536']) assert.match(refusal(...etcd, ...address.slice(0, 3), port), /must be a port between 1 and 65535/)
  assert.match(refusal(...etcd, ...address.slice(0, 3), 'x'), /takes a number/)
  assert.match(refusal(...etcd, '--peer-ca-file', 'a'), /^error building peer proxy handler, proxy-cert-file not specified/)
})

test('flags of etcd belong to the store on etcd, and fit each other', () => {
  const etcd = ['--store', 'etcd', '--etcd-servers', 'https://a:2379,https://b:2379']
  assert.deepEqual(checkConfig(readFlags(etcd)).etcdServers, ['https://a:2379', 'https://b:2379'])
  for (const prefix of ['registry', '/registry/', '//registry'])
    assert.equal(checkConfig(readFlags([...etcd, '--etcd-prefix', prefix])).etcdPrefix, '/registry')
  assert.equal(checkConfig(readFlags([...etcd, '--etcd-prefix', '/'])).etcdPrefix, '')
  assert.match(refusal('--store', 'etcd'), /needs --etcd-servers/)
  assert.match(refusal('--etcd-servers', 'http://a:2379'), /is for --store etcd/)
  for (const server of ['a:2379', 'ftp://a', 'http://user@a:2379', 'http://a:2379/path', 'http://a:x'])
    assert.match(refusal('--store', 'etcd', '--etcd-servers', server), /takes addresses such as/)
  assert.match(refusal(...etcd, '--etcd-certfile', 'c.pem'), /go together/)
  assert.match(refusal('--store', 'etcd', '--etcd-servers', 'http://a:1', '--etcd-cafile', 'c.pem'), /https/)
})
