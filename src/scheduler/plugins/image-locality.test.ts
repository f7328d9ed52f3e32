import assert from 'node:assert/strict'
import test from 'node:test'
import { clusterOf, cycleOf, nodeOf, podOf, scoreResults } from '../../../test/kits/scheduler.ts'
import { imageLocality } from './image-locality.ts'

test('nodes that have large images of the pod are better, the more nodes have them', () => {
  const MB = 1024 * 1024
  const image = (name: string, mb: number) => ({ names: [name], sizeBytes: mb * MB })
  const cluster = clusterOf([
    nodeOf('large', { images: [image('app:v1', 2000)] }),
    nodeOf('small', { images: [image('tool:latest', 10)] }),
    nodeOf('none'),
  ])
  const pod = (...images: string[]) => podOf({ spec: { containers: images.map(name => ({ name, image: name })) } })
  // 2000 MB on one of three nodes: 666 MB between 23 and 1000.
  assert.deepEqual(scoreResults(imageLocality, cycleOf(pod('app:v1'), cluster)), { large: 65, small: 0, none: 0 })
  assert.deepEqual(scoreResults(imageLocality, cycleOf(pod('tool'), cluster)), { large: 0, small: 0, none: 0 })
})
