/** Rules for the status of a claim: allocation, consumers, and the status of its devices. */
import { isValidInterfaceAddress } from '../../lib/ip.ts'
import { isDNS1123Label } from '../../lib/names.ts'
import { forbidden, invalid, invalidEach, type Ref, required, tooLong, tooMany, unsupported, withValue } from '../../schema/refs.ts'
import { meansTheSame } from '../rules/compare.ts'
import { validateConditions } from '../rules/meta.ts'
import { validateNodeSelector } from '../rules/pod/scheduling/node-selector.ts'
import {
  type AllocatedDeviceStatus,
  AllocationResult,
  type DeviceRequestAllocationResult,
  type NetworkDeviceData,
  type ResourceClaimConsumerReference,
  type ResourceClaimStatus,
} from './allocation-shapes.ts'
import { validateBindingConditions, validateSkippedOperations } from './binding-rules.ts'
import { MAX_CONFIGURATIONS, type RequestNames, validateRequestReference, validateRequestReferences } from './claim-rules.ts'
import type { DeviceAllocationConfiguration } from './claim-shapes.ts'
import { validateConfiguration, validateRawObject } from './configuration-rules.ts'
import { validateToleration } from './device-taint.ts'
import { type Finding, late, validateList } from './findings.ts'
import {
  validateDeclaredDriverName,
  validateDeclaredPoolName,
  validateDriverName,
  validatePoolName,
  validateShareID,
} from './name-rules.ts'

const MAX_RESERVATIONS = 256
const MAX_RESULTS = 32
const MAX_CONDITIONS = 8
const MAX_INTERFACE_NAME_BYTES = 256
const MAX_HARDWARE_ADDRESS_BYTES = 128
const MAX_ADDRESSES = 16
const SOURCES = ['FromClaim', 'FromClass']

export type StatusChange = {
  readonly old: ResourceClaimStatus
  /** The requests that devices can be allocated for. */
  readonly named: RequestNames
  /** The claim is being deallocated and accepts no new consumers. */
  readonly isGoing: boolean
}

/** Rules for a change of the status. */
export function* validateClaimStatus(
  status: ResourceClaimStatus,
  at: Ref<ResourceClaimStatus>,
  { old, named, isGoing }: StatusChange,
): Iterable<Finding> {
  const { allocation, reservedFor = [], devices } = status
  yield* validateList(reservedFor, at.reservedFor, { max: MAX_RESERVATIONS, key: ({ uid }) => uid, each: validateConsumer })
  const allocated = new Set((allocation?.devices.results ?? []).map(identityOf))
  yield* validateList(devices, at.devices, { key: identityOf, each: (device, here) => validateDevice(device, here, allocated) })
  if (reservedFor.length > 0 && !allocation) yield forbidden(at.reservedFor, 'may not be specified when `allocated` is not set')
  else if (isGoing && !isSubset(reservedFor, old.reservedFor))
    yield forbidden(at.reservedFor, 'new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set')
  if (!allocation) return
  if (!old.allocation) yield* validateAllocation(allocation, at.allocation, named)
  else if (!meansTheSame(AllocationResult, old.allocation, allocation))
    yield* late([invalid(withValue(at.allocation, null), 'field cannot be modified once set')])
}

function isSubset(consumers: readonly ResourceClaimConsumerReference[], of: readonly ResourceClaimConsumerReference[] = []): boolean {
  const known = new Set(of.map(consumer => JSON.stringify(consumer)))
  return consumers.every(consumer => known.has(JSON.stringify(consumer)))
}

type Identified = { driver: string; pool: string; device: string; shareID?: string }

/** The key of an allocated device, or of a share of a device. */
export const identityOf = ({ driver, pool, device, shareID }: Identified): string => JSON.stringify([driver, pool, device, shareID ?? ''])

function* validateConsumer(
  { resource, name, uid }: ResourceClaimConsumerReference,
  at: Ref<ResourceClaimConsumerReference>,
): Iterable<Finding> {
  if (!resource) yield required(at.resource)
  if (!name) yield required(at.name)
  if (!uid) yield required(at.uid)
}

function* validateAllocation(
  { devices: { results, config }, nodeSelector }: AllocationResult,
  at: Ref<AllocationResult>,
  named: RequestNames,
): Iterable<Finding> {
  yield* validateList(results, at.devices.results, { max: MAX_RESULTS, each: (result, here) => validateResult(result, here, named) })
  yield* validateList(config, at.devices.config, {
    // As many as a class has, plus as many as a claim has.
    max: 2 * MAX_CONFIGURATIONS,
    each: (configuration, here) => validateAllocatedConfiguration(configuration, here, named),
  })
  if (nodeSelector) yield* validateNodeSelector(nodeSelector, at.nodeSelector)
}

function* validateResult(
  result: DeviceRequestAllocationResult,
  at: Ref<DeviceRequestAllocationResult>,
  named: RequestNames,
): Iterable<Finding> {
  const { request, driver, pool, device, tolerations, shareID, skipNodeOperations } = result
  yield* validateRequestReference(request, at.request, named)
  yield* validateDeclaredDriverName(driver, at.driver)
  if (!pool) yield* late([required(at.pool)])
  else yield* validateDeclaredPoolName(pool, at.pool)
  yield* invalidEach(at.device, isDNS1123Label(device))
  yield* validateBindingConditions(result, at)
  yield* validateList(tolerations, at.tolerations, { each: validateToleration })
  if (shareID !== undefined) yield* validateShareID(shareID, at.shareID)
  yield* validateSkippedOperations(skipNodeOperations, at.skipNodeOperations)
}

function* validateAllocatedConfiguration(
  configuration: DeviceAllocationConfiguration,
  at: Ref<DeviceAllocationConfiguration>,
  named: RequestNames,
): Iterable<Finding> {
  const { source, requests } = configuration
  if (!source) yield* late([required(at.source)])
  else if (!SOURCES.includes(source)) yield* late([unsupported(at.source, ...SOURCES)])
  yield* validateRequestReferences(requests, at.requests, named)
  yield* validateConfiguration(configuration, at)
}

function* validateDevice(status: AllocatedDeviceStatus, at: Ref<AllocatedDeviceStatus>, allocated: ReadonlySet<string>): Iterable<Finding> {
  const { driver, pool, device, shareID, conditions, data, networkData } = status
  yield* validateDriverName(driver, at.driver)
  yield* validatePoolName(pool, at.pool)
  yield* invalidEach(at.device, isDNS1123Label(device))
  if (shareID !== undefined) yield* validateShareID(shareID, at.shareID)
  if (!allocated.has(identityOf(status))) yield invalid(withValue(at, UNSHOWN_IDENTITY), 'must be an allocated device in the claim')
  const count = conditions?.length ?? 0
  if (count > MAX_CONDITIONS) yield tooMany(at.conditions, count, MAX_CONDITIONS)
  yield* validateConditions(conditions, at.conditions)
  if (data !== undefined && data !== null) yield* validateRawObject(data, at.data)
  if (networkData) yield* validateNetworkData(networkData, at.networkData)
}

/** Kubernetes means to show the device, but shows this. */
const UNSHOWN_IDENTITY = { Driver: {}, Pool: {}, Device: {}, ShareID: {} }

function* validateNetworkData(
  { interfaceName = '', hardwareAddress = '', ips }: NetworkDeviceData,
  at: Ref<NetworkDeviceData>,
): Iterable<Finding> {
  if (Buffer.byteLength(interfaceName) > MAX_INTERFACE_NAME_BYTES) yield* late([tooLong(at.interfaceName, MAX_INTERFACE_NAME_BYTES)])
  yield* validateList(ips, at.ips, {
    max: MAX_ADDRESSES,
    key: ip => ip,
    each: (ip, here) => invalidEach(here, isValidInterfaceAddress(ip)),
  })
  if (Buffer.byteLength(hardwareAddress) > MAX_HARDWARE_ADDRESS_BYTES)
    yield* late([tooLong(at.hardwareAddress, MAX_HARDWARE_ADDRESS_BYTES)])
}
