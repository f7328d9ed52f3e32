/** Each of several managers applies a field of one object: an acknowledged value stays until its manager changes it. */
import { ask, type Chore, isUnknown, make, repeatedly, rest } from './chore.ts'

const MANAGERS = 3
const PATH = '/api/v1/namespaces/apply/secrets/shared'

export const apply: Chore = {
  name: 'apply',
  mayRepeat: true,
  async prepare({ connection }) {
    await make(connection, '/api/v1/namespaces', { metadata: { name: 'apply' } })
  },
  async work(stage) {
    const values = Array.from({ length: MANAGERS }, () => 0)
    /** Managers whose last write may still happen. */
    const unsure = new Set<number>()
    const isChecked = (i: number) => !unsure.has(i) && values[i]! > 0
    await repeatedly(stage, MANAGERS, async i => {
      const { connection, broken } = stage
      const value = values[i]! + 1
      const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'shared', annotations: { [`field-${i}`]: String(value) } } }
      const type = 'application/apply-patch+yaml'
      const answer = await ask(connection, { method: 'PATCH', path: `${PATH}?fieldManager=manager-${i}`, type, body })
      if (isUnknown(answer)) unsure.add(i)
      else if (answer!.status === 200 || answer!.status === 201) values[i] = value
      else broken(`manager ${i} could not apply its field: ${answer!.status} ${JSON.stringify(answer!.json)}`)
      if (isChecked(i)) {
        const found = await ask(connection, { method: 'GET', path: PATH })
        const shown = found?.json?.metadata?.annotations?.[`field-${i}`]
        if (found?.status === 200 && shown !== String(values[i])) broken(`manager ${i} applied ${values[i]} and reads ${shown}`)
        for (const { manager } of found?.json?.metadata?.managedFields ?? [])
          if (
            found!.json.metadata.managedFields.filter((entry: any) => entry.manager === manager && entry.operation === 'Apply').length > 1
          )
            broken(`${manager} has its fields twice`)
      }
      await rest(stage, 100)
    })
  },
  async check() {},
}
