import assert from 'node:assert/strict'
import test from 'node:test'
import type { Release } from '../schema/lifecycle.ts'
import { FeatureGateError, readFeatureGates } from './feature-gates.ts'
import { gateOptions } from './former-gates.ts'

const GATES = [
  'ShardedListAndWatch',
  'WatchList',
  'GenericWorkload',
  'MutatingAdmissionPolicy',
  'KMSv1',
  'DynamicResourceAllocation',
] as const
const states = (text: string) => {
  const gate = readFeatureGates(text)
  return GATES.map(gate)
}

test('gates are what they are by default until they are named', () => {
  assert.deepEqual(states(''), [false, true, false, true, false, true])
  assert.deepEqual(states('ShardedListAndWatch=true,WatchList=false'), [true, false, false, true, false, true])
  assert.deepEqual(states(' ShardedListAndWatch = TRUE , WatchList=0 ,'), [true, false, false, true, false, true])
  assert.equal(readFeatureGates('')('NoSuchGate'), false)
})

test('AllAlpha and AllBeta stand for every gate of their stage that is not named, in whatever order', () => {
  assert.deepEqual(states('AllAlpha=true,GenericWorkload=true'), [true, true, true, true, false, true])
  assert.deepEqual(states('AllBeta=false'), [false, false, false, true, false, true])
  assert.deepEqual(states('AllBeta=true'), [false, true, true, true, false, true])
  assert.deepEqual(states('AllAlpha=true,ShardedListAndWatch=false,GenericWorkload=true'), [false, true, true, true, false, true])
  assert.deepEqual(states('ShardedListAndWatch=true,WatchList=true,AllBeta=false,AllAlpha=false'), [true, true, false, true, false, true])
})

test('a gate that needs another one is refused without it', () => {
  assert.throws(() => readFeatureGates('CompositePodGroup=true'), {
    message: 'CompositePodGroup is enabled, but depends on features that are disabled: [GenericWorkload TopologyAwareWorkloadScheduling]',
  })
  assert.doesNotThrow(() => readFeatureGates('AllAlpha=true,AllBeta=true'))
})

test('an earlier release has its own gates, stages and defaults', () => {
  const at = (text: string, emulated: Release, oldest: Release) => readFeatureGates(text, gateOptions({ emulated, oldest }))
  assert.equal(at('', '1.37', '1.36')('StorageVersionMigrator'), true)
  assert.equal(at('', '1.36', '1.35')('StorageVersionMigrator'), false)
  assert.equal(at('AllBeta=true', '1.36', '1.35')('StorageVersionMigrator'), true)
  assert.equal(at('DRAPrioritizedList=false', '1.35', '1.34')('DRAPrioritizedList'), false)
  assert.throws(() => at('EvictionRequestAPI=true', '1.36', '1.35'), {
    message:
      'cannot set feature gate EvictionRequestAPI to true, feature is PreAlpha at emulated version 1.36, min compatibility version 1.35',
  })
  // On as soon as no server of the release before has to understand it.
  assert.equal(at('', '1.37', '1.36')('DRAFractionalCapacityRange'), false)
  assert.equal(at('', '1.37', '1.37')('DRAFractionalCapacityRange'), true)
})

test('gates that are unknown, fixed or not in order are refused by name', () => {
  const refused = (text: string, why: RegExp) =>
    assert.throws(
      () => readFeatureGates(text),
      (error: Error) => error instanceof FeatureGateError && why.test(error.message),
    )
  refused('Unheard=true', /unknown feature gate Unheard$/)
  refused('allalpha=true', /did you mean AllAlpha\?/)
  refused('watchlist=true', /did you mean WatchList\?/)
  refused('WatchList', /write it as NAME=true/)
  refused('WatchList=maybe', /write it as NAME=true/)
  refused('=true', /\(no name\)/)
  refused('DynamicResourceAllocation=false', /always on/)
  refused('GitRepoVolumeDriver=true', /gone/)
})
