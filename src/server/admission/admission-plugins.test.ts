import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Config, DEFAULTS } from '../config.ts'
import { admissionPlugins } from './admission-plugins.ts'

const DYNAMIC = ['MutatingAdmissionPolicy', 'MutatingAdmissionWebhook', 'ValidatingAdmissionPolicy', 'ValidatingAdmissionWebhook'].map(
  name => ({ name }),
)
const parts = {
  groupDomain: 'k8s.io',
  gate: () => false,
  randomSuffix: () => 'x',
  reader: { get: () => undefined, list: () => [] },
  dynamic: DYNAMIC,
} as never
const namesOn = (config: Partial<Config>) => admissionPlugins({ ...DEFAULTS, ...config }, parts).map(({ name }) => name)

test('pods need their account exactly where accounts are made, unless the operator says otherwise', () => {
  assert.ok(namesOn({}).includes('ServiceAccount'))
  assert.ok(!namesOn({ controllers: ['none'] }).includes('ServiceAccount'))
  assert.ok(!namesOn({ controllers: ['*', '-serviceaccount-controller'] }).includes('ServiceAccount'))
  assert.ok(namesOn({ controllers: ['none'], enableAdmissionPlugins: ['ServiceAccount'] }).includes('ServiceAccount'))
  assert.ok(!namesOn({ disableAdmissionPlugins: ['ServiceAccount'] }).includes('ServiceAccount'))
})

test('plugins keep their order, and the one that protects roles cannot be left out', () => {
  assert.deepEqual(namesOn({}).slice(0, 4), ['PolicyParamsAccess', 'NamespaceLifecycle', 'LimitRanger', 'ServiceAccount'])
  assert.throws(() => namesOn({ disableAdmissionPlugins: ['RoleEscalation'] }), /there is no plugin "RoleEscalation"/)
})

test('every plugin of Kubernetes 1.37 is known, and enabling a deprecated one causes a warning', () => {
  const warnings: string[] = []
  const warn = (message: string) => warnings.push(message)
  const given = {
    ...DEFAULTS,
    enableAdmissionPlugins: ['AlwaysAdmit', 'PodGroupProtection', 'Priority'],
    disableAdmissionPlugins: ['PodSecurity'],
  }
  admissionPlugins(given, { ...(parts as object), warn } as never)
  assert.deepEqual(warnings, [
    'AlwaysAdmit admission controller is deprecated. Please remove this controller from your configuration files and scripts.',
  ])
  admissionPlugins({ ...DEFAULTS, disableAdmissionPlugins: ALL_PLUGINS }, { ...(parts as object), warn } as never)
})

test('plugins are on by default and in the order of kube-apiserver 1.37', () => {
  const off = `AlwaysAdmit NamespaceAutoProvision NamespaceExists LimitPodHardAntiAffinityTopology NodeRestriction AlwaysPullImages
    ImagePolicyWebhook PodNodeSelector PodTolerationRestriction EventRateLimit ExtendedResourceToleration
    OwnerReferencesPermissionEnforcement DenyServiceExternalIPs AlwaysDeny`.split(/\s+/)
  // The added ones are done by the kinds themselves in kube-apiserver.
  const expected = ALL_PLUGINS.filter(name => !off.includes(name))
  const added = ['PolicyParamsAccess', 'RoleEscalation', 'LocalAddressPermission', 'ResourceClaimStatus', 'PodCertificateSigning']
  assert.deepEqual(
    namesOn({}).filter(name => !added.includes(name)),
    expected,
  )
  const settings = { eventLimits: [], imagePolicy: {} }
  const all = admissionPlugins({ ...DEFAULTS, enableAdmissionPlugins: ALL_PLUGINS }, { ...(parts as object), settings, warn() {} } as never)
  assert.deepEqual(
    all.map(({ name }) => name).filter(name => !added.includes(name)),
    ALL_PLUGINS,
  )
})

/** As kube-apiserver 1.37 orders them. */
const ALL_PLUGINS = `AlwaysAdmit NamespaceAutoProvision NamespaceLifecycle NamespaceExists LimitPodHardAntiAffinityTopology LimitRanger
  ServiceAccount NodeRestriction TaintNodesByCondition AlwaysPullImages ImagePolicyWebhook PodSecurity PodNodeSelector Priority
  DefaultTolerationSeconds PodTolerationRestriction EventRateLimit ExtendedResourceToleration DefaultStorageClass
  StorageObjectInUseProtection PodGroupProtection OwnerReferencesPermissionEnforcement PersistentVolumeClaimResize RuntimeClass
  CertificateApproval CertificateSigning ClusterTrustBundleAttest CertificateSubjectRestriction DefaultIngressClass
  DenyServiceExternalIPs PodTopologyLabels NodeDeclaredFeatureValidator PodResizeValidator MutatingAdmissionPolicy
  MutatingAdmissionWebhook ValidatingAdmissionPolicy ValidatingAdmissionWebhook ResourceQuota AlwaysDeny`.split(/\s+/)

test('unknown plugins, and those both enabled and disabled, are rejected', () => {
  assert.throws(
    () => namesOn({ enableAdmissionPlugins: ['Whim'] }),
    /^Error: --enable-admission-plugins: there is no plugin "Whim"; this version has /,
  )
  const both = { enableAdmissionPlugins: ['Priority'], disableAdmissionPlugins: ['Priority'] }
  assert.throws(() => namesOn(both), /both name Priority$/)
})
