// Names and focus for people who use a keyboard or a screen reader, where the theme leaves them out (axe-core's rules summary-name,
// button-name, label-content-name-mismatch, scrollable-region-focusable and empty-table-header).
document.addEventListener("DOMContentLoaded", () => {
  for (const summary of document.querySelectorAll("nav summary")) summary.setAttribute("aria-label", "Pages of this section");
  for (const button of document.querySelectorAll(".search-button-field")) {
    // the name holds all of the text that is shown, and is there on phones, which show none
    button.setAttribute("aria-label", button.textContent.replace(/\s+/g, " ").trim());
  }
  for (const head of document.querySelectorAll("th")) {
    // the corner of a table with titles of rows and columns (empty-table-header)
    if (!head.textContent.trim()) head.replaceWith(document.createElement("td"));
  }
  for (const table of document.querySelectorAll(".pst-scrollable-table-container > table")) table.tabIndex = 0;
  for (const chart of document.querySelectorAll(".bd-article p:has(> img)")) if (chart.scrollWidth > chart.clientWidth) chart.tabIndex = 0;
});

// A page of one name is found by its title and by its object: the search lists it once.
document.addEventListener("DOMContentLoaded", () => {
  const results = document.querySelector("#search-results");
  if (!results) return;
  new MutationObserver(() => {
    const listed = new Set();
    for (const item of results.querySelectorAll("ul.search > li")) {
      const link = item.querySelector("a");
      if (!link) continue;
      const own = link.pathname.replace(/\.html$/, "").split(".").pop();
      const isWhole = !link.hash || link.hash.split(".").pop() === own;
      if (isWhole && listed.has(link.pathname)) item.remove();
      else if (isWhole) listed.add(link.pathname);
    }
  }).observe(results, { childList: true, subtree: true });
});
