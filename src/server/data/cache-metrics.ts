/** Metrics of the memory that caches use. */
import type { Caches } from '../../cache/caches.ts'
import type { Family } from '../../lib/exposition.ts'

export function cacheFamilies({ objectBytes, historyBytes }: Pick<Caches, 'objectBytes' | 'historyBytes'>): Family[] {
  return [
    ...(objectBytes === undefined
      ? []
      : [
          {
            name: 'keelson_cache_object_bytes',
            type: 'gauge',
            help: 'Bytes of objects that are in memory; others are read from the store when they are asked for.',
            samples: [[{}, objectBytes]],
          } as const,
        ]),
    {
      name: 'keelson_cache_history_bytes',
      type: 'gauge',
      help: 'Bytes of past states of objects that are in memory.',
      samples: [[{}, historyBytes]],
    },
  ]
}
