import assert from 'node:assert/strict'
import { test } from 'node:test'
import { container, containerErrors, podSpec, type Rows, specErrors } from '../../../../../test/kits/kinds/pod-shapes.ts'
import { goQuote } from '../../../../lib/go-text.ts'
import type { PodOptions } from '../options.ts'

const ID = 'must be between 0 and 2147483647, inclusive'
const containerRows: Rows<object> = [
  [
    'ids of users and groups are in range',
    { runAsUser: -1, runAsGroup: 2147483648 },
    [`runAsUser: Invalid value: -1: ${ID}`, `runAsGroup: Invalid value: 2147483648: ${ID}`],
  ],
  [
    'the proc mount type is a supported value',
    { procMount: 'Naked' },
    ['procMount: Unsupported value: "Naked": supported values: "Default", "Unmasked"'],
  ],
  [
    'proc is unmasked for users of the pod only',
    { procMount: 'Unmasked' },
    ['procMount: Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`'],
  ],
  [
    'a seccomp profile has a type',
    { seccompProfile: {} },
    ['seccompProfile.type: Required value: type is required when seccompProfile is set'],
  ],
  [
    'types of seccomp profiles are supported values',
    { seccompProfile: { type: 'Odd', localhostProfile: 'x' } },
    [
      'seccompProfile.type: Unsupported value: "Odd": supported values: "Localhost", "RuntimeDefault", "Unconfined"',
      'seccompProfile.localhostProfile: Invalid value: {"Type":"Odd","LocalhostProfile":"x"}: can only be set when seccomp type is Localhost',
    ],
  ],
  [
    'a profile of the node is named',
    { seccompProfile: { type: 'Localhost' } },
    ['seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost'],
  ],
  [
    'a profile of the node is below its directory',
    { seccompProfile: { type: 'Localhost', localhostProfile: '/../x' } },
    [
      'seccompProfile.localhostProfile: Invalid value: "/../x": must be a relative path',
      'seccompProfile.localhostProfile: Invalid value: "/../x": must not contain \'..\'',
    ],
  ],
  [
    'an AppArmor profile has a type',
    { appArmorProfile: {} },
    ['appArmorProfile.type: Required value: type is required when appArmorProfile is set'],
  ],
  [
    'types of AppArmor profiles are supported values',
    { appArmorProfile: { type: 'Odd' } },
    ['appArmorProfile.type: Unsupported value: "Odd": supported values: "Localhost", "RuntimeDefault", "Unconfined"'],
  ],
  [
    'only a profile of the node is named',
    { appArmorProfile: { type: 'Unconfined', localhostProfile: 'x' } },
    ['appArmorProfile.localhostProfile: Invalid value: "x": can only be set when AppArmor type is Localhost'],
  ],
  [
    'an AppArmor profile of the node is named',
    { appArmorProfile: { type: 'Localhost', localhostProfile: '' } },
    ['appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost'],
  ],
  [
    'names of AppArmor profiles are not padded and not endless',
    { appArmorProfile: { type: 'Localhost', localhostProfile: ` ${'x'.repeat(4095)}` } },
    [
      `appArmorProfile.localhostProfile: Invalid value: " ${'x'.repeat(4095)}": must not be padded with whitespace`,
      'appArmorProfile.localhostProfile: Too long: may not be more than 4095 bytes',
    ],
  ],
]
for (const [name, securityContext, expected] of containerRows)
  test(name, () =>
    assert.deepEqual(
      containerErrors({ securityContext }).map(text => text.replace('securityContext.', '')),
      expected,
    ),
  )

test('a container that may not gain rights has not all of them', () => {
  const shown = (part: string) =>
    `{${part},"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,"ProcMount":null,"SeccompProfile":null,"AppArmorProfile":null}`
  assert.deepEqual(containerErrors({ securityContext: { allowPrivilegeEscalation: false, privileged: true } }), [
    `securityContext: Invalid value: ${shown('"Capabilities":null,"Privileged":true')}: cannot set \`allowPrivilegeEscalation\` to false and \`privileged\` to true`.replace(
      'securityContext',
      'securityContext',
    ),
  ])
  assert.deepEqual(containerErrors({ securityContext: { allowPrivilegeEscalation: false, capabilities: { add: ['CAP_SYS_ADMIN'] } } }), [
    `securityContext: Invalid value: ${shown('"Capabilities":{"Add":["CAP_SYS_ADMIN"],"Drop":null},"Privileged":null')}: cannot set \`allowPrivilegeEscalation\` to false and \`capabilities.Add\` CAP_SYS_ADMIN`,
  ])
})

test('a cluster may refuse privileges', () => {
  const options: Partial<PodOptions> = { privileged: false }
  assert.deepEqual(containerErrors({ securityContext: { privileged: true } }, {}, options), [
    'securityContext.privileged: Forbidden: disallowed by cluster policy',
  ])
  const windows = { securityContext: { windowsOptions: { hostProcess: true } }, hostNetwork: true }
  assert.deepEqual(specErrors(podSpec(windows), options), ['spec: Forbidden: hostProcess containers are disallowed by cluster policy'])
})

const POLICY = (field: string, ...values: string[]) =>
  `spec.securityContext.${field}: Unsupported value: "Odd": supported values: ${values.map(v => `"${v}"`).join(', ')}`
const SYSCTL = 'must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$'
const podRows: Rows<object> = [
  [
    'ids of a pod are in range',
    { securityContext: { fsGroup: -1, runAsUser: -1, runAsGroup: -1, supplementalGroups: [1, -1] } },
    ['fsGroup', 'runAsUser', 'runAsGroup', 'supplementalGroups[1]'].map(field => `spec.securityContext.${field}: Invalid value: -1: ${ID}`),
  ],
  [
    'policies of a pod are supported values',
    { securityContext: { fsGroupChangePolicy: 'Odd', supplementalGroupsPolicy: 'Odd', seLinuxChangePolicy: 'Odd' } },
    [
      POLICY('fsGroupChangePolicy', 'Always', 'OnRootMismatch'),
      POLICY('supplementalGroupsPolicy', 'Merge', 'Strict'),
      POLICY('seLinuxChangePolicy', 'MountOption', 'Recursive'),
    ],
  ],
  [
    'parameters of the kernel have names, each once',
    { securityContext: { sysctls: [{ name: '' }, { name: 'a..b' }, { name: 'net.a' }, { name: 'net.a' }, { name: 'net/ipv4/x' }] } },
    [
      'spec.securityContext.sysctls[0].name: Required value',
      `spec.securityContext.sysctls[1].name: Invalid value: "a..b": ${SYSCTL}`,
      'spec.securityContext.sysctls[3].name: Duplicate value: "net.a"',
    ],
  ],
  [
    'parameters of the node stay the node’s',
    {
      hostNetwork: true,
      hostIPC: true,
      securityContext: { sysctls: ['net.a', 'net/b', 'kernel.shm_rmid_forced', 'fs.mqueue.x', 'vm.a'].map(name => ({ name, value: '1' })) },
    },
    [
      'spec.securityContext.sysctls[0].name: Invalid value: "net.a": may not be specified when \'hostNetwork\' is true',
      'spec.securityContext.sysctls[1].name: Invalid value: "net/b": may not be specified when \'hostNetwork\' is true',
      'spec.securityContext.sysctls[2].name: Invalid value: "kernel.shm_rmid_forced": may not be specified when \'hostIPC\' is true',
      'spec.securityContext.sysctls[3].name: Invalid value: "fs.mqueue.x": may not be specified when \'hostIPC\' is true',
    ],
  ],
  [
    'processes are shared with the pod or with the node',
    { shareProcessNamespace: true, hostPID: true },
    ['spec.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled'],
  ],
  [
    'a pod with its own user namespace shares no host namespaces',
    {
      hostUsers: false,
      hostNetwork: true,
      hostPID: true,
      hostIPC: true,
      volumes: [{ name: 'd', persistentVolumeClaim: { claimName: 'c' } }],
      containers: [container({ volumeDevices: [{ name: 'd', devicePath: '/d' }], securityContext: { procMount: 'Unmasked' } })],
    },
    [
      ...['hostNetwork', 'HostPID', 'HostIPC', 'containers[0].volumeDevices'].map(
        field => `spec.${field}: Forbidden: when \`hostUsers\` is false`,
      ),
    ],
  ],
]
for (const [name, given, expected] of podRows) test(name, () => assert.deepEqual(specErrors(podSpec(given)), expected))

const USER = 'spec.securityContext.windowsOptions.runAsUserName: Invalid value: '
const userRows: Rows<string> = [
  ['a user of Windows is not empty', '', ['runAsUserName cannot be an empty string']],
  ['a user has no control characters', 'a\u0001', ['runAsUserName cannot contain control characters']],
  ['a user has one domain', 'a\\b\\c', ['runAsUserName cannot contain more than one backslash']],
  ['a domain is not endless', `${'a.'.repeat(128)}a\\u`, ["runAsUserName's Domain length must be under 256 characters"]],
  ['a domain is one of NetBios or DNS', '.a\\u', ["runAsUserName's Domain doesn't match the NetBios nor the DNS format"]],
  ['a domain has a user', 'a\\', ["runAsUserName's User cannot be empty"]],
  ['a user is not endless', 'u'.repeat(105), ["runAsUserName's User length must not be longer than 104 characters"]],
  ['a user is not only dots', '. .', ["runAsUserName's User cannot contain only periods or spaces"]],
  ['a user has no odd characters', 'a@b', [`runAsUserName's User cannot contain the following characters: "/\\:;|=,+*?<>@[]`]],
  ['an ordinary user is fine', 'NT AUTHORITY\\NETWORK SERVICE', []],
]
for (const [name, runAsUserName, expected] of userRows)
  test(name, () =>
    assert.deepEqual(
      specErrors(podSpec({ securityContext: { windowsOptions: { runAsUserName } } })),
      expected.map(message => `${USER}${goQuote(runAsUserName)}: ${message}`),
    ),
  )

test('credentials of Windows have a name or content', () => {
  const errors = specErrors(podSpec({ securityContext: { windowsOptions: { gmsaCredentialSpecName: 'A', gmsaCredentialSpec: '' } } }))
  assert.deepEqual(
    errors.map(text => text.slice(0, 75)),
    [
      'spec.securityContext.windowsOptions.gmsaCredentialSpecName: Invalid value: ',
      'spec.securityContext.windowsOptions.gmsaCredentialSpec: Invalid value: "": ',
    ],
  )
  assert.match(
    specErrors(podSpec({ securityContext: { windowsOptions: { gmsaCredentialSpec: 'x'.repeat(65537) } } }))[0]!,
    /size must be under 64 KiB$/,
  )
})

test('processes of a Windows host are all containers or none', () => {
  const own = (hostProcess: boolean) => ({ securityContext: { windowsOptions: { hostProcess } } })
  assert.deepEqual(specErrors(podSpec({ containers: [container(own(true)), container({ name: 'b' })] })), [
    'spec: Invalid value: "": If pod contains any hostProcess containers then all containers must be HostProcess containers',
    'spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers',
  ])
  assert.deepEqual(
    specErrors(podSpec({ hostNetwork: true, ...own(true), containers: [container(own(false)), container({ name: 'b' })] })),
    [
      'spec.containers[0].securityContext.windowsOptions.hostProcess: Invalid value: false: pod hostProcess value must be identical if both are specified, was true',
      'spec: Invalid value: "": If pod contains any hostProcess containers then all containers must be HostProcess containers',
    ],
  )
})

const WINDOWS = 'cannot be set for a windows pod'
const osRows: Rows<object> = [
  ['an operating system has a name', { os: {} }, ['spec.os.name: Required value']],
  ['operating systems are known', { os: { name: 'plan9' } }, ['spec.os: Unsupported value: "plan9": supported values: "linux", "windows"']],
  [
    'Linux has nothing of Windows',
    {
      os: { name: 'linux' },
      securityContext: { windowsOptions: {} },
      containers: [container({ securityContext: { windowsOptions: {} } })],
    },
    ['spec.securityContext', 'spec.containers[0].securityContext'].map(
      at => `${at}.windowsOptions: Forbidden: windows options cannot be set for a linux pod`,
    ),
  ],
  [
    'Windows has nothing of Linux',
    {
      os: { name: 'windows' },
      hostUsers: true,
      hostPID: true,
      hostIPC: true,
      shareProcessNamespace: false,
      securityContext: { fsGroup: 1, seLinuxOptions: {}, runAsUser: 1, sysctls: [{ name: 'a' }] },
      containers: [container({ securityContext: { capabilities: {}, privileged: false, runAsUser: 1 } })],
    },
    [
      ...['securityContext.seLinuxOptions', 'securityContext.fsGroup', 'securityContext.sysctls', 'securityContext.runAsUser'],
      ...['hostUsers', 'hostPID', 'hostIPC', 'shareProcessNamespace'],
      ...['capabilities', 'privileged', 'runAsUser'].map(field => `containers[0].securityContext.${field}`),
    ].map(field => `spec.${field}: Forbidden: ${WINDOWS}`),
  ],
]
for (const [name, given, expected] of osRows) test(name, () => assert.deepEqual(specErrors(podSpec(given)), expected))
