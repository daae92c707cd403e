// The railroad diagram of a format: diagram(node, room, shown) draws it no wider than the room.
const diagram = (() => {
  "use strict";
  const svg = (name, attributes, ...children) => {
    const e = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
    e.append(...children);
    return e;
  };
  const gap = 14,
    letter = 7.9,
    row = 18;
  const rail = (to, d) => to.append(svg("path", { d }));
  let shown;

  // Each node has a width, a height above and below the rail on which it begins, and the distance
  // down to the rail on which it ends, and draws itself.
  const box = (n, room) => {
    const own = n.kind === "marker";
    const text = [...shown(own ? n.text.replaceAll("\n", "⏎").replaceAll(" ", "␣") : n.text)];
    const most = Math.max(4, Math.floor((room - 18) / letter)),
      lines = [];
    for (let i = 0; i < text.length; i += most) lines.push(text.slice(i, i + most).join(""));
    const w = Math.min(text.length, most) * letter + 18,
      extra = row * (lines.length - 1);
    return {
      w,
      up: 15,
      down: 15 + extra,
      end: 0,
      draw: (to, x, y) =>
        to.append(
          svg(
            "g",
            { class: own ? "m" : "s" },
            svg("rect", { x, y: y - 13, width: w, height: 26 + extra, rx: own ? 4 : 13 }),
            ...lines.map((line, i) => svg("text", { x: x + 9, y: y + 4.5 + row * i }, line)),
          ),
        ),
    };
  };
  const sequence = (n, room) => {
    const items = n.items.map((i) => lay(i, room));
    const rows = [[]];
    let w = 0,
      wide = 0;
    for (const i of items) {
      if (w && w + gap + i.w > room) {
        rows.push([]);
        w = 0;
      }
      w += (w ? gap : 0) + i.w;
      rows.at(-1).push(i);
      wide = Math.max(wide, w);
    }
    // the rail of each row: below what is above it
    let y = 0,
      depth = 0,
      up = 0;
    const at = rows.map((items, k) => {
      let rise = 0,
        fall = 0,
        on = 0;
      for (const i of items) {
        rise = Math.max(rise, i.up - on);
        fall = Math.max(fall, on + i.down);
        on += i.end;
      }
      if (k === 0) up = rise;
      else y = depth + rise + 24;
      depth = y + fall;
      return y;
    });
    const turn = rows.length > 1 ? gap : 0;
    let end = 0;
    for (const i of rows.at(-1)) end += i.end;
    return {
      w: wide + 2 * turn,
      up,
      down: depth,
      end: at.at(-1) + end,
      draw: (to, left, top) => {
        const right = left + wide + 2 * turn;
        rows.forEach((items, k) => {
          let x = left + turn,
            y = top + at[k];
          if (k === 0 && turn) rail(to, `M${left} ${y}h${turn}`);
          items.forEach((i, n) => {
            i.draw(to, x, y);
            x += i.w;
            y += i.end;
            if (n < items.length - 1) rail(to, `M${x} ${y}h${gap}`);
            x += n < items.length - 1 ? gap : 0;
          });
          if (k === rows.length - 1) return rail(to, `M${x} ${y}H${right}`);
          const next = top + at[k + 1],
            between = next - rows[k + 1].reduce((most, i) => Math.max(most, i.up), 0) - 12;
          rail(
            to,
            `M${x} ${y}H${right - 7}q7 0 7 7V${between - 7}q0 7 -7 7H${left + 7}q-7 0 -7 7` +
              `V${next - 7}q0 7 7 7H${left + turn}`,
          );
        });
      },
    };
  };
  const optional = (n, room) => {
    const i = lay(n.items[0], room - 2 * gap),
      w = i.w + 2 * gap,
      over = i.up + 8;
    return {
      w,
      up: over + 4,
      down: i.down,
      end: i.end,
      draw: (to, x, y) => {
        const below = y + i.end;
        rail(to, `M${x} ${y}h${gap}M${x + w - gap} ${below}h${gap}`);
        rail(
          to,
          `M${x} ${y}q7 0 7 -7V${y - over + 7}q0 -7 7 -7h${w - 28}q7 0 7 7V${below - 7}q0 7 7 7`,
        );
        i.draw(to, x + gap, y);
      },
    };
  };
  const repeat = (n, room) => {
    const i = lay(n.items[0], room - 2 * gap),
      sep = n.sep ? box({ kind: "marker", text: n.sep }, room - 4 * gap) : null;
    const inner = Math.max(i.w, sep ? sep.w : 0),
      w = inner + 2 * gap,
      under = i.down + (sep ? 22 : 12);
    return {
      w,
      up: i.up,
      down: under + (sep ? 15 : 4),
      end: i.end,
      draw: (to, x, y) => {
        const from = x + gap + (inner - i.w) / 2,
          below = y + i.end,
          loop = y + under;
        rail(to, `M${x} ${y}H${from}M${from + i.w} ${below}H${x + w}`);
        rail(
          to,
          `M${x + w - gap} ${below}q7 0 7 7V${loop - 7}q0 7 -7 7h${-inner}q-7 0 -7 -7V${y + 7}` +
            `q0 -7 7 -7`,
        );
        if (sep) sep.draw(to, x + (w - sep.w) / 2, loop);
        i.draw(to, from, y);
      },
    };
  };
  const choice = (n, room) => {
    const items = n.items.map((i) => lay(i, room - 4 * gap));
    const w = Math.max(...items.map((i) => i.w)) + 4 * gap;
    let down = items[0].down;
    const at = items.map((i, k) => {
      if (k === 0) return 0;
      const y = down + i.up + 6;
      down = y + i.down;
      return y;
    });
    return {
      w,
      up: items[0].up,
      down,
      end: 0,
      draw: (to, x, y) =>
        items.forEach((i, k) => {
          const begin = y + at[k],
            end = begin + i.end,
            after = x + 2 * gap + i.w;
          rail(
            to,
            k === 0
              ? `M${x} ${y}h${2 * gap}`
              : `M${x} ${y}q7 0 7 7V${begin - 7}q0 7 7 7h${2 * gap - 14}`,
          );
          rail(
            to,
            end === y
              ? `M${after} ${y}H${x + w}`
              : `M${after} ${end}H${x + w - 14}q7 0 7 -7V${y + 7}q0 -7 7 -7`,
          );
          i.draw(to, x + 2 * gap, begin);
        }),
    };
  };
  const nothing = {
    w: gap,
    up: 4,
    down: 4,
    end: 0,
    draw: (to, x, y) => rail(to, `M${x} ${y}h${gap}`),
  };
  const lay = (n, room) => {
    room = Math.max(room, 90);
    if (n.kind === "sequence") return n.items?.length ? sequence(n, room - 2 * gap) : nothing;
    const kinds = { optional, repeat, choice };
    return (kinds[n.kind] ?? box)(n, room);
  };
  const words = (n) => {
    const inner = (n.items || []).map(words);
    switch (n.kind) {
      case "marker":
        return JSON.stringify(n.text);
      case "slot":
        return n.text;
      case "optional":
        return `[ ${inner[0]} ]`;
      case "repeat":
        return `{ ${inner[0]} }${n.sep ? " separated by " + JSON.stringify(n.sep) : ""}`;
      case "choice":
        return inner.join(" or ");
      default:
        return inner.join(" ");
    }
  };
  return (node, room, visible) => {
    shown = visible;
    const laid = lay(flat(node), room - 44),
      w = laid.w + 40,
      h = laid.up + laid.down + 20,
      y = laid.up + 10,
      end = y + laid.end;
    const picture = svg("svg", {
      class: "railroad",
      width: w,
      height: h,
      viewBox: `0 0 ${w} ${h}`,
      role: "img",
      "aria-label": "Railroad diagram: " + shown(words(node)),
    });
    rail(picture, `M4 ${y - 7}v14M4 ${y}h16M${w - 20} ${end}h16m0 -7v14`);
    laid.draw(picture, 20, y);
    return picture;
  };

  // flat is a node whose sequences have no sequences as items.
  function flat(n) {
    if (!n.items) return n;
    const items = n.items.map(flat);
    return {
      ...n,
      items:
        n.kind === "sequence"
          ? items.flatMap((i) => (i.kind === "sequence" ? (i.items ?? []) : [i]))
          : items,
    };
  }
})();
