import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import { Budget } from './budget.ts'
import { expand } from './expansion.ts'
import { mountProblem } from './files.ts'
import { pullErrorOf } from './image.ts'
import { inputsOf } from './inputs-of-container.ts'
import { runCommand } from './shell.ts'
import type { Sources } from './sources.ts'

const entries = (data: Record<string, string>) => new Map(Object.entries(data).map(([key, value]) => [key, () => value] as const))
const sources = {
  entries: (plural: string, name: string | undefined) =>
    name === 'settings' ? entries({ color: plural === 'secrets' ? 'hidden' : 'blue', 'bad=name': 'x' }) : undefined,
  services: (withOwn: boolean) => [
    { metadata: { name: 'kubernetes' }, spec: { clusterIP: '10.0.0.1', ports: [{ name: 'https', port: 443, protocol: 'TCP' }] } },
    ...(withOwn ? [{ metadata: { name: 'my-db' }, spec: { clusterIP: 'fd00::1', ports: [{ port: 53, protocol: 'UDP' }] } }] : []),
    { metadata: { name: 'headless' }, spec: { clusterIP: 'None', ports: [{ port: 1 }] } },
  ],
  bundles: () => [],
  allocatable: { cpu: '4', memory: '1Gi' },
} as unknown as Sources

const podOf = (spec: object = {}) =>
  ({
    metadata: { name: 'web-0', namespace: 'shop', uid: 'u1', labels: { b: '2', a: 'one "two"' }, annotations: { note: 'x' } },
    spec: { nodeName: 'n1', serviceAccountName: 'robot', ...spec },
    status: { hostIP: '172.18.0.2', podIP: '10.244.0.5', podIPs: [{ ip: '10.244.0.5' }, { ip: 'fd00::5' }] },
  }) as unknown as Pod

const inputs = (container: object, spec?: object) => inputsOf({ name: 'c', ...container } as Container, podOf(spec), sources)
const value = (container: object, name: string) => inputs(container).variables().get(name)
const field = (fieldPath: string) => ({ valueFrom: { fieldRef: { fieldPath } } })

test('references are replaced once, and unknown ones stay', () => {
  const known = new Map([
    ['A', 'x'],
    ['B', '$(A)'],
  ])
  const of = (text: string) => expand(text, name => known.get(name))
  assert.equal(of('$(A)-$(B)-$(C)-$$(A)-$A-$'), 'x-$(A)-$(C)-$(A)-$A-$')
  assert.equal(of('$(A'), '$(A')
  assert.equal(of(`${'$('.repeat(100_000)}`), '$('.repeat(100_000))
})

test('variables that refer to each other, or to large values, do not grow without end', () => {
  const env = Array.from({ length: 60 }, (_, i) => ({ name: `V${i}`, value: i === 0 ? 'x' : `$(V${i - 1})$(V${i - 1})` }))
  const doubled = inputs({ env }).variables()
  assert.equal(doubled.get('V5')!.length, 32)
  for (const text of doubled.values()) assert.ok(text.length < 10_000)
  const large = { name: 'L', value: 'y'.repeat(8_000) }
  const copies = Array.from({ length: 10_000 }, (_, i) => ({ name: `C${i}`, value: '$(L)' }))
  const all = [
    ...inputs({ env: [large, ...copies] })
      .variables()
      .values(),
  ]
  assert.ok(all.join('').length < 2 << 20)
})

test('variables come from services, whole objects, keys, fields and resources', () => {
  const resources = { limits: { memory: '64Mi' }, requests: { cpu: '1500m' } }
  const ofResource = (resource: string, divisor = '0') => ({ valueFrom: { resourceFieldRef: { resource, divisor } } })
  const container = {
    resources,
    envFrom: [{ prefix: 'P_', configMapRef: { name: 'settings' } }, { secretRef: { name: 'nowhere', optional: true } }],
    env: [
      { name: 'COLOR', valueFrom: { secretKeyRef: { name: 'settings', key: 'color' } } },
      { name: 'NONE', valueFrom: { configMapKeyRef: { name: 'settings', key: 'shape', optional: true } } },
      { name: 'BOTH', value: '$(COLOR) and $(P_color) at $(MY_DB_SERVICE_HOST)' },
      { name: 'IPS', ...field('status.podIPs') },
      { name: 'LABEL', ...field("metadata.labels['a']") },
      { name: 'CPU', ...ofResource('requests.cpu') },
      { name: 'CPU_MILLI', ...ofResource('requests.cpu', '1m') },
      { name: 'CPU_LIMIT', ...ofResource('limits.cpu') },
      { name: 'MEMORY', ...ofResource('limits.memory', '1Mi') },
    ],
  }
  const expected = {
    COLOR: 'hidden',
    NONE: undefined,
    BOTH: 'hidden and blue at fd00::1',
    IPS: '10.244.0.5,fd00::5',
    LABEL: 'one "two"',
    CPU: '2',
    CPU_MILLI: '1500',
    CPU_LIMIT: '4',
    MEMORY: '64',
    P_color: 'blue',
    'P_bad=name': undefined,
    HOSTNAME: 'web-0',
    KUBERNETES_SERVICE_HOST: '10.0.0.1',
    KUBERNETES_SERVICE_PORT_HTTPS: '443',
    KUBERNETES_PORT: 'tcp://10.0.0.1:443',
    MY_DB_PORT_53_UDP: 'udp://[fd00::1]:53',
    MY_DB_PORT_53_UDP_PROTO: 'udp',
    HEADLESS_SERVICE_HOST: undefined,
  }
  for (const [name, text] of Object.entries(expected)) assert.equal(value(container, name), text, name)
  assert.equal(inputs({}, { enableServiceLinks: false }).variables().has('MY_DB_SERVICE_HOST'), false)
})

test('files come from the innermost mount, with their modes', () => {
  const spec = {
    volumes: [
      { name: 'map', configMap: { name: 'settings', items: [{ key: 'color', path: 'deep/c', mode: 0o400 }] } },
      { name: 'secret', secret: { secretName: 'settings', defaultMode: 0o440 } },
      { name: 'info', downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
      { name: 'none', configMap: { name: 'nowhere', optional: true } },
      { name: 'scratch', emptyDir: { medium: 'Memory' } },
      { name: 'token', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
    ],
  }
  const mounts = {
    '/etc/map': 'map',
    '/etc/map/secret': 'secret',
    '/info/': 'info',
    '/none': 'none',
    '/scratch': 'scratch',
    '/token': 'token',
  }
  const volumeMounts = [
    ...Object.entries(mounts).map(([mountPath, name]) => ({ mountPath, name })),
    { mountPath: '/one', name: 'map', subPathExpr: '$(DIR)/c' },
  ]
  const { file } = inputs({ volumeMounts, env: [{ name: 'DIR', value: 'deep' }] }, spec)
  assert.deepEqual(file('/etc/map/deep/c'), { content: 'blue', mode: 0o400, group: 0 })
  assert.deepEqual(file('/etc/map/secret/../secret/color'), { content: 'hidden', mode: 0o440, group: 0 })
  assert.deepEqual(file('/one'), { content: 'blue', mode: 0o400, group: 0 })
  assert.deepEqual(file('/info/labels'), { content: 'a="one \\"two\\""\nb="2"', mode: 0o644, group: 0 })
  assert.equal(file('/etc/map/color'), 'missing')
  assert.equal(file('/none/color'), 'missing')
  assert.deepEqual(file('/token/token'), { content: undefined, mode: 0o644, group: 0 })
  assert.equal((file('/scratch') as { fileSystem?: string }).fileSystem, 'tmpfs')
  for (const path of ['/scratch/x', '/etc/mapped', '/etc', 'relative']) assert.equal(file(path), 'unknown', path)
  const grouped = inputs({ volumeMounts }, { ...spec, securityContext: { fsGroup: 1001 } }).file('/one')
  assert.equal(grouped, 'missing')
})

test('a command looks at a few files only', () => {
  let looked = 0
  const file = () => {
    looked++
    return 'missing' as const
  }
  const options = { inputs: { variables: () => new Map(), file }, budget: new Budget(), lastWordsPath: '' }
  assert.equal(runCommand(['cat', '/a', '/b'], options)?.exitCode, 1)
  assert.equal(looked, 2)
  runCommand(['cat', ...Array.from({ length: 900 }, (_, i) => `/etc/${i}`)], options)
  assert.ok(looked < 100)
})

test('sub-paths must stay within their volume', () => {
  const problem = (mount: object, variables: Record<string, string> = {}) =>
    mountProblem({ volumeMounts: [mount] } as unknown as Container, () => new Map(Object.entries(variables)))
  assert.equal(problem({ subPath: 'a/b' }), undefined)
  assert.equal(problem({ subPathExpr: '$(A)' }, { A: 'x' }), undefined)
  assert.equal(problem({ subPathExpr: '$(A)/$(B)' }, { B: '' }), 'missing value for A, B')
  assert.equal(problem({ subPathExpr: '$(A)' }, { A: '/tmp' }), 'error SubPath `/tmp` must not be an absolute path')
  assert.equal(problem({ subPathExpr: '$(A)' }, { A: '..' }), "unable to provision SubPath `..`: must not contain '..'")
})

test('images that say so cannot be pulled', () => {
  assert.equal(
    pullErrorOf('webserver:404'),
    'failed to pull and unpack image "docker.io/library/webserver:404": failed to resolve reference "docker.io/library/webserver:404": docker.io/library/webserver:404: not found',
  )
  for (const image of ['localhost/some-image-that-doesnt-exist', 'does-not-exist:1', 'a.example:5000/nonexistent'])
    assert.match(pullErrorOf(image) ?? '', /: not found$/)
  assert.match(pullErrorOf('invalid.registry.k8s.io/invalid/alpine:3.1') ?? '', /lookup invalid\.registry\.k8s\.io: no such host$/)
  for (const image of ['nginx', 'nginx:1.29', 'localhost:404/web', 'team/invalid:1', 'a@sha256:404'])
    assert.equal(pullErrorOf(image), undefined)
})
