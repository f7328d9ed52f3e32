/** The feature gates that the allocation of devices depends on. */

export type AllocatorFeatures = {
  readonly partitionableDevices: boolean
  readonly deviceTaints: boolean
  readonly taintRules: boolean
  readonly bindingConditions: boolean
  readonly consumableCapacity: boolean
  readonly fractionalCapacityRange: boolean
  readonly listTypeAttributes: boolean
  readonly derivedAttributes: boolean
  readonly compatibilityGroups: boolean
  readonly optionalNodeOperations: boolean
  readonly extendedResources: boolean
  readonly nodeResources: boolean
}

export const allocatorFeatures = (gate: (name: string) => boolean): AllocatorFeatures => ({
  partitionableDevices: gate('DRAPartitionableDevices'),
  deviceTaints: gate('DRADeviceTaints'),
  taintRules: gate('DRADeviceTaints') && gate('DRADeviceTaintRules'),
  bindingConditions: gate('DRADeviceBindingConditions') && gate('DRAResourceClaimDeviceStatus'),
  consumableCapacity: gate('DRAConsumableCapacity'),
  fractionalCapacityRange: gate('DRAFractionalCapacityRange'),
  listTypeAttributes: gate('DRAListTypeAttributes'),
  derivedAttributes: gate('DRADerivedAttributes'),
  compatibilityGroups: gate('DRADeviceCompatibilityGroups'),
  optionalNodeOperations: gate('DRAOptionalNodeOperations'),
  extendedResources: gate('DRAExtendedResource'),
  nodeResources: gate('DRANodeAllocatableResources'),
})
