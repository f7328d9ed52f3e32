// Every control of the Pod Security Standards: which pods violate it, in which versions, and in which words.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { detailsOf, type Level, type Pod, violations } from './standards.ts'

const NEWEST = 40
const MINORS = Array.from({ length: NEWEST + 1 }, (_, minor) => minor)

type Part = Readonly<Record<string, unknown>>
type Case = {
  readonly spec?: Part
  readonly pod?: Part
  readonly annotations?: Readonly<Record<string, string>>
  /** Security contexts of the containers `a`, `b` and so on; the first is that of an init container. */
  readonly contexts?: readonly Part[]
  readonly containers?: readonly Part[]
}

/** A pod that violates nothing, but for what a case sets. */
function podOf({ spec = {}, pod = {}, annotations = {}, contexts = [{}, {}], containers }: Case): Pod {
  const fine = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } }
  const all = containers ?? contexts.map(context => ({ securityContext: { ...fine, ...context } }))
  const named = all.map((container, i) => ({ name: String.fromCharCode(97 + i), image: 'i', securityContext: fine, ...container }))
  return {
    metadata: { annotations },
    spec: {
      initContainers: named.slice(0, 1),
      containers: named.slice(1),
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' }, ...pod },
      ...spec,
    },
  } as unknown as Pod
}

type Row = Case & {
  readonly control: string
  /** The levels that forbid it, with the versions since which they do, and before which. */
  readonly forbiddenBy: Partial<Record<Level, readonly [since: number, before?: number]>>
  readonly says: string
}

const both = (since: number, before?: number): Row['forbiddenBy'] => {
  const span: readonly [number, number?] = before === undefined ? [since] : [since, before]
  return { baseline: span, restricted: span }
}
const always = both(0)
const restricted = (since: number, before?: number): Row['forbiddenBy'] => ({
  restricted: before === undefined ? [since] : [since, before],
})

const rows: readonly Row[] = [
  {
    control: 'host namespaces',
    spec: { hostNetwork: true, hostPID: true, hostIPC: true },
    forbiddenBy: always,
    says: 'host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)',
  },
  { control: 'host namespaces', spec: { hostIPC: true }, forbiddenBy: always, says: 'host namespaces (hostIPC=true)' },
  {
    control: 'privileged containers',
    contexts: [{ privileged: true }, { privileged: false }, { privileged: true }],
    forbiddenBy: always,
    says: 'privileged (containers "a", "c" must not set securityContext.privileged=true)',
  },
  {
    control: 'capabilities beyond the default ones',
    contexts: [{ capabilities: { drop: ['ALL'], add: ['CHOWN'] } }, { capabilities: { drop: ['ALL'], add: ['NET_RAW', 'BPF', 'KILL'] } }],
    forbiddenBy: { baseline: [0], restricted: [0, 22] },
    says: 'non-default capabilities (container "b" must not include "BPF", "NET_RAW" in securityContext.capabilities.add)',
  },
  {
    control: 'capabilities beyond binding ports',
    contexts: [{ capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } }, { capabilities: { drop: ['ALL'], add: ['CHOWN'] } }],
    forbiddenBy: restricted(22),
    says: 'unrestricted capabilities (container "b" must not include "CHOWN" in securityContext.capabilities.add)',
  },
  {
    control: 'capabilities that are not dropped',
    contexts: [{ capabilities: {} }, { capabilities: { drop: ['NET_RAW'], add: ['SYS_TIME'] } }],
    forbiddenBy: restricted(22),
    says: 'unrestricted capabilities (containers "a", "b" must set securityContext.capabilities.drop=["ALL"]; container "b" must not include "SYS_TIME" in securityContext.capabilities.add)',
  },
  {
    control: 'hostPath volumes',
    spec: {
      volumes: [
        { name: 'x', hostPath: {} },
        { name: 'y', emptyDir: {} },
        { name: 'z', hostPath: {} },
      ],
    },
    forbiddenBy: { baseline: [0] },
    says: 'hostPath volumes (volumes "x", "z")',
  },
  {
    control: 'volume types',
    spec: {
      volumes: [
        { name: 'x', hostPath: {} },
        { name: 'y', nfs: {} },
        ...['configMap', 'csi', 'downwardAPI', 'emptyDir', 'ephemeral', 'image', 'persistentVolumeClaim', 'projected', 'secret'].map(
          type => ({
            name: type.toLowerCase(),
            [type]: {},
          }),
        ),
      ],
    },
    forbiddenBy: restricted(0),
    says: 'restricted volume types (volumes "x", "y" use restricted volume types "hostPath", "nfs")',
  },
  {
    control: 'host ports',
    containers: [{ ports: [{ hostPort: 0 }] }, { ports: [{ hostPort: 30 }, { hostPort: 20 }] }, { ports: [{ hostPort: 30 }] }],
    forbiddenBy: always,
    says: 'hostPort (containers "b", "c" use hostPorts 20, 30)',
  },
  {
    control: 'hosts of probes and of lifecycle hooks',
    containers: [
      { lifecycle: { preStop: { httpGet: { host: 'b.example' } } } },
      { livenessProbe: { tcpSocket: { host: '127.0.0.1' } }, readinessProbe: { httpGet: { host: '' } } },
    ],
    forbiddenBy: both(34),
    says: 'probe or lifecycle host (containers "a", "b" use probe or lifecycle hosts "127.0.0.1", "b.example")',
  },
  {
    control: 'AppArmor fields',
    pod: { appArmorProfile: { type: 'Unconfined' } },
    contexts: [{ appArmorProfile: { type: 'Localhost' } }, { appArmorProfile: { type: 'Unconfined' } }],
    forbiddenBy: always,
    says: 'forbidden AppArmor profile (pod and container "b" must not set AppArmor profile type to "Unconfined")',
  },
  {
    control: 'AppArmor annotations',
    annotations: {
      'container.apparmor.security.beta.kubernetes.io/a': 'unconfined',
      'container.apparmor.security.beta.kubernetes.io/b': 'localhost/x',
    },
    forbiddenBy: always,
    says: 'forbidden AppArmor profile (annotation must not set AppArmor profile type to "container.apparmor.security.beta.kubernetes.io/a="unconfined"")',
  },
  {
    control: 'SELinux types, users and roles',
    pod: { seLinuxOptions: { type: 'foo' } },
    contexts: [{ seLinuxOptions: { type: 'container_t', user: 'u' } }, { seLinuxOptions: { type: 'bar', role: 'r' } }],
    forbiddenBy: always,
    says: 'seLinuxOptions (pod and containers "a", "b" set forbidden securityContext.seLinuxOptions: types "bar", "foo"; user may not be set; role may not be set)',
  },
  {
    control: 'the SELinux type of container engines',
    pod: { seLinuxOptions: { type: 'container_engine_t' } },
    forbiddenBy: both(0, 31),
    says: 'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "container_engine_t")',
  },
  {
    control: 'procMount',
    contexts: [{ procMount: 'Default' }, { procMount: 'Unmasked' }],
    forbiddenBy: always,
    says: 'procMount (container "b" must not set securityContext.procMount to "Unmasked")',
  },
  {
    control: 'procMount in a user namespace',
    spec: { hostUsers: false },
    contexts: [{ procMount: 'Unmasked' }],
    forbiddenBy: { baseline: [0, 35], restricted: [0] },
    says: 'procMount (container "a" must not set securityContext.procMount to "Unmasked")',
  },
  {
    control: 'seccomp annotations',
    annotations: {
      'seccomp.security.alpha.kubernetes.io/pod': 'unconfined',
      'container.seccomp.security.alpha.kubernetes.io/a': 'docker/default',
      'container.seccomp.security.alpha.kubernetes.io/b': 'unknown',
    },
    forbiddenBy: both(0, 19),
    says: 'seccompProfile (forbidden annotations container.seccomp.security.alpha.kubernetes.io/b="unknown", seccomp.security.alpha.kubernetes.io/pod="unconfined")',
  },
  {
    control: 'seccomp profiles',
    pod: { seccompProfile: { type: 'Unconfined' } },
    contexts: [{ seccompProfile: { type: 'Localhost' } }, { seccompProfile: { type: 'Unconfined' } }],
    forbiddenBy: both(19),
    says: 'seccompProfile (pod and container "b" must not set securityContext.seccompProfile.type to "Unconfined")',
  },
  {
    control: 'seccomp profiles that nobody sets',
    pod: { seccompProfile: undefined },
    contexts: [{ seccompProfile: { type: 'RuntimeDefault' } }, {}],
    forbiddenBy: restricted(19),
    says: 'seccompProfile (pod or container "b" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
  },
  {
    control: 'sysctls',
    pod: { sysctls: ['kernel.msgmax', 'net.ipv4.tcp_syncookies', 'a'].map(name => ({ name, value: '1' })) },
    forbiddenBy: always,
    says: 'forbidden sysctls (kernel.msgmax, a)',
  },
  ...(
    [
      [27, 'net.ipv4.ip_local_reserved_ports'],
      [29, 'net.ipv4.tcp_keepalive_time'],
      [29, 'net.ipv4.tcp_fin_timeout'],
      [29, 'net.ipv4.tcp_keepalive_intvl'],
      [29, 'net.ipv4.tcp_keepalive_probes'],
      [32, 'net.ipv4.tcp_rmem'],
      [32, 'net.ipv4.tcp_wmem'],
    ] as const
  ).map(([since, name]) => ({
    control: `the sysctl ${name}`,
    pod: { sysctls: [{ name, value: '1' }] },
    forbiddenBy: both(0, since),
    says: `forbidden sysctls (${name})`,
  })),
  {
    control: 'host processes of Windows',
    pod: { windowsOptions: { hostProcess: true } },
    contexts: [{ windowsOptions: { hostProcess: false } }, { windowsOptions: { hostProcess: true } }],
    forbiddenBy: always,
    says: 'hostProcess (pod and container "b" must not set securityContext.windowsOptions.hostProcess=true)',
  },
  {
    control: 'privilege escalation',
    contexts: [{ allowPrivilegeEscalation: undefined }, { allowPrivilegeEscalation: true }],
    forbiddenBy: restricted(8),
    says: 'allowPrivilegeEscalation != false (containers "a", "b" must set securityContext.allowPrivilegeEscalation=false)',
  },
  {
    control: 'running as root by the pod',
    pod: { runAsNonRoot: false },
    forbiddenBy: restricted(0),
    says: 'runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)',
  },
  {
    control: 'running as root by a container',
    contexts: [{ runAsNonRoot: false }, { runAsNonRoot: true }],
    forbiddenBy: restricted(0),
    says: 'runAsNonRoot != true (container "a" must not set securityContext.runAsNonRoot=false)',
  },
  {
    control: 'running as root unless somebody says otherwise',
    pod: { runAsNonRoot: undefined },
    contexts: [{ runAsNonRoot: true }, {}, {}],
    forbiddenBy: restricted(0),
    says: 'runAsNonRoot != true (pod or containers "b", "c" must set securityContext.runAsNonRoot=true)',
  },
  {
    control: 'running as root in a user namespace',
    spec: { hostUsers: false },
    pod: { runAsNonRoot: false },
    forbiddenBy: restricted(0, 35),
    says: 'runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)',
  },
  {
    control: 'the user 0',
    pod: { runAsUser: 0 },
    contexts: [{ runAsUser: 1000 }, { runAsUser: 0 }],
    forbiddenBy: restricted(23),
    says: 'runAsUser=0 (pod and container "b" must not set runAsUser=0)',
  },
  {
    control: 'the user 0 in a user namespace',
    spec: { hostUsers: false },
    pod: { runAsUser: 0 },
    forbiddenBy: restricted(23, 35),
    says: 'runAsUser=0 (pod must not set runAsUser=0)',
  },
  {
    control: 'privilege escalation on Windows',
    spec: { os: { name: 'windows' } },
    contexts: [{ allowPrivilegeEscalation: undefined }],
    forbiddenBy: restricted(8, 25),
    says: 'allowPrivilegeEscalation != false (container "a" must set securityContext.allowPrivilegeEscalation=false)',
  },
  {
    control: 'capabilities on Windows',
    spec: { os: { name: 'windows' } },
    contexts: [{ capabilities: {} }],
    forbiddenBy: restricted(22, 25),
    says: 'unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"])',
  },
  {
    control: 'seccomp profiles that nobody sets on Windows',
    spec: { os: { name: 'windows' } },
    pod: { seccompProfile: undefined },
    contexts: [{}],
    forbiddenBy: restricted(19, 25),
    says: 'seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
  },
]

for (const { control, forbiddenBy, says, ...pod } of rows)
  test(`${control}: ${says}`, () => {
    for (const level of ['privileged', 'baseline', 'restricted'] as const) {
      const [since, before = Number.POSITIVE_INFINITY] = forbiddenBy[level] ?? [Number.POSITIVE_INFINITY]
      for (const minor of MINORS)
        assert.equal(
          detailsOf(violations({ level, version: minor }, podOf(pod))).includes(says),
          since <= minor && minor < before,
          `${level} v1.${minor}`,
        )
      assert.deepEqual(violations({ level, version: 'latest' }, podOf(pod)), violations({ level, version: NEWEST }, podOf(pod)))
    }
  })

test('a pod that sets what is asked for violates nothing', () => {
  for (const level of ['privileged', 'baseline', 'restricted'] as const)
    for (const minor of MINORS) assert.deepEqual(violations({ level, version: minor }, podOf({})), [], `${level} v1.${minor}`)
})

test('several violations are told in the order of Kubernetes, those of baseline first', () => {
  const pod = podOf({
    spec: { hostNetwork: true, volumes: [{ name: 'v', hostPath: {} }] },
    pod: { runAsNonRoot: false, seccompProfile: undefined },
    contexts: [{ privileged: true, allowPrivilegeEscalation: true, capabilities: {} }],
  })
  assert.deepEqual(
    violations({ level: 'restricted', version: 'latest' }, pod).map(({ reason }) => reason),
    [
      'host namespaces',
      'privileged',
      'allowPrivilegeEscalation != false',
      'unrestricted capabilities',
      'restricted volume types',
      'runAsNonRoot != true',
      'seccompProfile',
    ],
  )
})
