/** Prefers nodes that have the images of the pod already, the more the larger these are. */
import type { PodSpec } from '../../kinds/rules/pod/spec.ts'
import { MAX_SCORE, type Plugin } from '../plugin.ts'

const MB = 1024 * 1024
/** Less than this is pulled quickly, and more than that in one image makes no further difference. */
const MIN_SIZE = 23 * MB
const MAX_PER_IMAGE = 1000 * MB

export const imageLocality: Plugin = {
  name: 'ImageLocality',
  weight: 1,
  score({ pod, cluster }) {
    const images = imagesOf(pod.spec)
    if (!images.some(image => cluster.hasImage(image))) return undefined
    const most = MAX_PER_IMAGE * images.length
    const total = cluster.nodes.length
    return {
      score({ name }) {
        let present = 0
        for (const image of images) {
          const found = cluster.image(image, name)
          // An image that few nodes have counts less: otherwise its pods would all go to these.
          if (found) present += Math.trunc((found.size * found.nodes) / total)
        }
        return Math.trunc((MAX_SCORE * (Math.min(Math.max(present, MIN_SIZE), most) - MIN_SIZE)) / (most - MIN_SIZE))
      },
    }
  },
}

const imagesOf = ({ initContainers = [], containers = [], volumes = [] }: PodSpec): string[] =>
  [
    ...[...initContainers, ...containers].map(({ image = '' }) => image),
    ...volumes.flatMap(({ image }) => (image ? [image.reference ?? ''] : [])),
  ].map(withTag)

/** The name as nodes report it. */
const withTag = (image: string): string => (image.lastIndexOf(':') <= image.lastIndexOf('/') ? `${image}:latest` : image)
