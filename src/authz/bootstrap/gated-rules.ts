/** Bootstrap rules that exist only while a feature gate is on. */
import { EVENTS, type RoleTable, type RuleLine } from './notation.ts'

/** Rules of a gate that are added to cluster roles, and the roles of controllers that exist for the feature. */
type Gated = { readonly added?: RoleTable; readonly controllers?: RoleTable }

const GATED: Readonly<Record<string, Gated>> = {
  GenericWorkload: {
    added: {
      'system:aggregate-to-view': [['read', 'scheduling.', 'podgroups podgroups/status workloads']],
      'system:aggregate-to-edit': [['write', 'scheduling.', 'podgroups workloads']],
      'system:kube-scheduler': [
        ['read', 'scheduling.', 'podgroups'],
        ['patch update', 'scheduling.', 'podgroups/status'],
      ],
    },
    controllers: {
      'podgroup-protection-controller': [
        ['read update', 'scheduling.', 'podgroups'],
        ['read', 'core', 'pods'],
      ],
    },
  },
  CompositePodGroup: {
    added: {
      'system:aggregate-to-view': [['read', 'scheduling.', 'compositepodgroups compositepodgroups/status']],
      'system:aggregate-to-edit': [['write', 'scheduling.', 'compositepodgroups']],
      'system:kube-scheduler': [
        ['read', 'scheduling.', 'compositepodgroups'],
        ['patch update', 'scheduling.', 'compositepodgroups/status'],
      ],
    },
  },
  EvictionRequestAPI: {
    added: {
      'system:aggregate-to-view': [['read', 'lifecycle.', 'evictionrequests evictions']],
      'system:aggregate-to-edit': [['write', 'lifecycle.', 'evictionrequests']],
    },
  },
  DRAWorkloadResourceClaims: {
    added: {
      'system:controller:resource-claim-controller': [
        ['read', 'scheduling.', 'podgroups'],
        ['patch update', 'scheduling.', 'podgroups/status'],
      ],
    },
  },
  WorkloadWithJob: {
    added: { 'system:controller:job-controller': [['read create patch update', 'scheduling.', 'podgroups workloads']] },
  },
  DRADeviceTaints: {
    controllers: {
      'device-taint-eviction-controller': [
        ['read delete', 'core', 'pods'],
        ['patch update', 'core', 'pods/status'],
        ['read', 'resource.', 'resourceclaims'],
        ['read', 'resource.', 'resourceslices'],
        ['read', 'resource.', 'deviceclasses'],
        EVENTS,
      ],
    },
  },
  DRADeviceTaintRules: {
    added: {
      'system:controller:device-taint-eviction-controller': [
        ['patch update', 'resource.', 'devicetaintrules/status'],
        ['read', 'resource.', 'devicetaintrules'],
      ],
    },
  },
  DRAResourcePoolStatus: {
    controllers: {
      'resourcepoolstatusrequest-controller': [
        ['read delete', 'resource.', 'resourcepoolstatusrequests'],
        ['patch update', 'resource.', 'resourcepoolstatusrequests/status'],
        ['read', 'resource.', 'resourceslices'],
        ['read', 'resource.', 'resourceclaims'],
        ['read', 'resource.', 'devicetaintrules'],
        EVENTS,
      ],
    },
  },
  CSIVolumeHealth: {
    added: { 'system:node': [['get patch update', 'storage.', 'csinodes/status']] },
  },
  StorageVersionAPI: {
    controllers: {
      'storage-version-garbage-collector': [
        ['read', 'coordination.', 'leases'],
        ['read delete patch update', 'internal.apiserver.', 'storageversions'],
        ['get patch update', 'internal.apiserver.', 'storageversions/status'],
      ],
    },
  },
}

/** The rules that the gates which are on add to a role. */
export const addedRules = (role: string, gate: (name: string) => boolean): readonly RuleLine[] =>
  Object.entries(GATED).flatMap(([name, { added }]) => (gate(name) ? (added?.[role] ?? []) : []))

/** The roles of controllers of the gates which are on. */
export const addedControllers = (gate: (name: string) => boolean): RoleTable =>
  Object.assign({}, ...Object.entries(GATED).map(([name, { controllers }]) => (gate(name) ? controllers : {})))
