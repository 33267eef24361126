// A link to a profile opens it.
function open_target() {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (target && target.tagName === "DETAILS") target.open = true;
}
addEventListener("hashchange", open_target);
open_target();

// The values of the point nearest to the pointer, if one is near.
const hover = document.createElement("div");
hover.className = "hover";
hover.hidden = true;
document.body.append(hover);
for (const plot of document.querySelectorAll("svg.plot")) {
  // The browser's own words for a point would come later and lie over ours.
  const points = [...plot.querySelectorAll(".pt")].map(point => {
    const title = point.querySelector("title"), words = title ? title.textContent : "";
    point.setAttribute("aria-label", words);
    if (title) title.remove();
    return { point, words };
  });
  plot.addEventListener("pointermove", event => {
    let best = null, least = 30;
    for (const { point, words } of points) {
      const box = point.getBoundingClientRect();
      const across = Math.max(box.left - event.clientX, 0, event.clientX - box.right);
      const down = Math.max(box.top - event.clientY, 0, event.clientY - box.bottom);
      const away = Math.hypot(across, down);
      if (words && away < least) [best, least] = [{ box, words }, away];
    }
    hover.hidden = best === null;
    if (!best) return;
    hover.textContent = best.words;
    const left = Math.min(best.box.left + best.box.width / 2 + 10, document.documentElement.clientWidth - hover.offsetWidth - 8);
    hover.style.left = `${Math.max(8, left) + scrollX}px`;
    hover.style.top = `${best.box.top + scrollY - hover.offsetHeight - 8}px`;
  });
  plot.addEventListener("pointerleave", () => { hover.hidden = true; });
}
