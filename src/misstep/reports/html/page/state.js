// A campaign of the report: columns at once, what is behind a row when it is asked for.

const MOST_CELLS = 40e6; // values of states that are unpacked to be searched

class Campaign {
  constructor(described, number) {
    Object.assign(this, described);
    this.number = number;
    this.isModel = this.world === "model";
  }

  async load() {
    const names = Object.keys(this.columns);
    const arrays = await Promise.all(names.map((own) => arrayOf(this.prefix + "." + own, this.columns[own].type)));
    this.column = Object.fromEntries(names.map((own, k) => [own, arrays[k]]));
    this.words = Object.fromEntries(names.filter((own) => this.columns[own].words).map((own) => [own, this.columns[own].words]));
    this.familyRows = await arrayOf(this.prefix + ".families", "Uint32Array");
    this.familyOf = new Int32Array(this.rows).fill(-1);
    for (let k = this.families.length - 1; k >= 0; k--) for (const row of this.rowsOfFamily(k)) this.familyOf[row] = k;
  }

  word(column, row) { return this.words[column][this.column[column][row]]; }
  id(row) { return this.word("task", row) + ":" + this.column.number[row]; }
  rowsOfFamily(k) { const own = this.families[k]; return this.familyRows.subarray(own.first, own.first + own.count); }

  rowOf(id) {
    const cut = id.lastIndexOf(":");
    const task = this.words.task.indexOf(id.slice(0, cut)), number = Number(id.slice(cut + 1));
    for (let row = 0; row < this.rows; row++)
      if (this.column.number[row] === number && this.column.task[row] === task) return row;
    return -1;
  }

  blockOf(row) {
    let low = 0, high = this.blocks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.blocks[middle].first <= row) low = middle; else high = middle - 1;
    }
    return low;
  }

  task(k) { return piece(`late.${this.prefix}.task${k}`); }

  async detail(row) {
    const number = this.blockOf(row), block = this.blocks[number];
    const rows = await piece(`late.${this.prefix}.rows${number}`);
    const own = { ...rows[row - block.first], task: await this.task(block.task), taskNumber: block.task };
    if (own.rest) {
      // The rest of a run that is written down with another state of it.
      const [place, from] = own.rest, whole = rows[place];
      for (const key of ["run", "states", "verdicts", "outcomes"]) own[key] = whole[key] && whole[key].slice(from);
    }
    if (!own.state) {
      const matrix = await this.matrix(number);
      own.state = Array.from({ length: block.width }, (_, v) => matrix[v * block.count + row - block.first]);
    }
    return own;
  }

  matrix(number) {
    this.matrices ||= new Map();
    if (!this.matrices.has(number)) this.matrices.set(number, arrayOf(`late.${this.prefix}.states${number}`, this.blocks[number].states));
    return this.matrices.get(number);
  }

  get searchable() {
    return this.blocks.every((own) => own.states) && this.blocks.reduce((sum, own) => sum + own.count * own.width, 0) <= MOST_CELLS;
  }

  // All states, so that facts can be searched and states be found again.
  loadStates() {
    this.allStates ||= Promise.all(this.blocks.map(async (block, number) => ({ ...block, matrix: await this.matrix(number), content: await this.task(block.task) })));
    return this.allStates;
  }

  // Rows by state, for one task.
  async rowsByState(taskNumber) {
    this.byState ||= new Map();
    if (!this.byState.has(taskNumber)) {
      const found = new Map();
      if (this.searchable)
        for (const block of await this.loadStates()) {
          if (block.task !== taskNumber) continue;
          for (let k = 0; k < block.count; k++) {
            const values = [];
            for (let v = 0; v < block.width; v++) values.push(block.matrix[v * block.count + k]);
            found.set(values.join(","), block.first + k);
          }
        }
      this.byState.set(taskNumber, found);
    }
    return this.byState.get(taskNumber);
  }
}

// A fact in words: the atom, or a variable with its value; null where a value says nothing.
function factText(task, variable, value) {
  if (task.facts) {
    const text = task.facts[variable][value];
    return text !== undefined && text.startsWith("Atom ") ? text.slice(5) : null;
  }
  const own = task.variables[variable], places = task.locations[own];
  return own + "=" + (places ? places[value] : JSON.stringify(value));
}

function factsOf(task, state) {
  return state.map((value, variable) => factText(task, variable, value)).filter((text) => text !== null);
}
